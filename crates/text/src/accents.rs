//! Letters with accents that folding leaves, and which letters they are without. Tables, because a process that worked them out
//! would do that before its first answer; a test of `spelling.rs` works them out, and says what is to stand here.

/// How many letters have one.
const LETTERS: usize = 303;

/// A letter without an accent, and those that have one, in the order of their code points.
#[rustfmt::skip]
pub(crate) static ACCENTED: [(char, &str); 35] = [
    ('a', "āąǎǟǡǻȁȃȧḁ"),
    ('b', "ḃḅḇ"),
    ('c', "ćĉċčḉ"),
    ('d', "ďḋḍḏḑḓ"),
    ('e', "ēĕėęěȅȇȩḕḗḙḛḝ"),
    ('f', "ḟ"),
    ('g', "ĝğġģǧǵḡ"),
    ('h', "ĥħȟḣḥḧḩḫẖ"),
    ('i', "īĭįıǐȉȋɨḭḯ"),
    ('j', "ĵǰ"),
    ('k', "ķǩḱḳḵ"),
    ('l', "ĺļľłḷḹḻḽ"),
    ('m', "ḿṁṃ"),
    ('n', "ńņňǹṅṇṉṋ"),
    ('o', "ōŏőœǒǫǭȍȏȫȭȯȱṍṏṑṓ"),
    ('p', "ṕṗ"),
    ('r', "ŕŗřȑȓṙṛṝṟ"),
    ('s', "śŝşšșṡṣṥṧṩ"),
    ('t', "ţťŧțṫṭṯṱẗ"),
    ('u', "ũūŭůűųǔǖǘǚǜȕȗṳṵṷṹṻ"),
    ('v', "ṽṿ"),
    ('w', "ŵẁẃẅẇẉẘ"),
    ('x', "ẋẍ"),
    ('y', "ŷȳẏẙ"),
    ('z', "źżžƶẑẓẕ"),
    ('α', "άἀἁἂἃἄἅἆἇὰᾀᾁᾂᾃᾄᾅᾆᾇᾰᾱᾲᾳᾴᾶᾷ"),
    ('ε', "έἐἑἒἓἔἕὲ"),
    ('η', "ήἠἡἢἣἤἥἦἧὴᾐᾑᾒᾓᾔᾕᾖᾗῂῃῄῆῇ"),
    ('ι', "ΐίϊἰἱἲἳἴἵἶἷὶῐῑῒῖῗ"),
    ('ο', "όὀὁὂὃὄὅὸ"),
    ('ρ', "ῤῥ"),
    ('σ', "ς"),
    ('υ', "ΰϋύὐὑὒὓὔὕὖὗὺῠῡῢῦῧ"),
    ('ω', "ώὠὡὢὣὤὥὦὧὼᾠᾡᾢᾣᾤᾥᾦᾧῲῳῴῶῷ"),
    ('е', "ѐё"),
];

/// A letter with an accent, and the letter without, in the order of the former.
pub(crate) static BASES: [(char, char); LETTERS] = bases();

/// [`ACCENTED`] the other way round, when this is compiled.
const fn bases() -> [(char, char); LETTERS] {
    let mut found = [('\0', '\0'); LETTERS];
    let (mut row, mut count) = (0, 0);
    while row < ACCENTED.len() {
        let (base, letters) = ACCENTED[row];
        let (bytes, mut at) = (letters.as_bytes(), 0);
        while at < bytes.len() {
            let (letter, length) = decode(bytes, at);
            // Into its place: the rows are in order already.
            let mut place = count;
            while place > 0 && found[place - 1].0 as u32 > letter as u32 {
                found[place] = found[place - 1];
                place -= 1;
            }
            found[place] = (letter, base);
            (count, at) = (count + 1, at + length);
        }
        row += 1;
    }
    assert!(count == LETTERS, "LETTERS is how many there are");
    found
}

/// The character of two or three bytes, and how many they are; there are no others in the table.
const fn decode(bytes: &[u8], at: usize) -> (char, usize) {
    let (first, second) = (bytes[at] as u32, (bytes[at + 1] & 0x3f) as u32);
    let (code, length) = match first >> 4 {
        0xc | 0xd => ((first & 0x1f) << 6 | second, 2),
        _ => ((first & 0xf) << 12 | second << 6 | (bytes[at + 2] & 0x3f) as u32, 3),
    };
    match char::from_u32(code) {
        Some(letter) => (letter, length),
        None => panic!("no character"),
    }
}
