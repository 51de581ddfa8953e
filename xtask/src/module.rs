//! Reads the outside of a WebAssembly module: what it imports and how far its memory may grow; and takes the names of its
//! functions out of it. Nothing else of the format is known here.

const MAGIC: &[u8] = b"\0asm\x01\0\0\0";
const SECTION_CUSTOM: u8 = 0;
const SECTION_IMPORT: u8 = 2;
const SECTION_MEMORY: u8 = 5;
const PAGE_BYTES: u64 = 65_536;

/// What a module shows to its host.
#[derive(Debug, PartialEq, Eq)]
pub struct Facts {
    /// Number of imports.
    pub imports: usize,
    /// Declared maximum of its memory, if there is one.
    pub memory_bytes_max: Option<u64>,
}

/// Reads `module` and refuses imports from any other module than `allowed`.
pub fn check(module: &[u8], allowed: &[&str]) -> Result<Facts, String> {
    let body = module.strip_prefix(MAGIC).ok_or("not a WebAssembly module")?;
    let mut facts = Facts { imports: 0, memory_bytes_max: None };
    let mut sections = Bytes(body);
    while !sections.0.is_empty() {
        let section = sections.byte()?;
        let mut content = Bytes(sections.sized()?);
        match section {
            SECTION_IMPORT => facts.imports = check_imports(&mut content, allowed)?,
            SECTION_MEMORY if content.number()? > 0 => facts.memory_bytes_max = limit(&mut content)?,
            _ => {}
        }
    }
    Ok(facts)
}

/// A module cut in two: what runs, and a module of nothing but the section of names, which stacks of traps are read with.
pub struct Cut {
    /// Everything but the names.
    pub module: Vec<u8>,
    /// The names.
    pub names: Vec<u8>,
}

/// Takes the section of names out of `module`. A module without one is refused: it was built otherwise than it is meant to.
pub fn cut(module: &[u8]) -> Result<Cut, String> {
    let body = module.strip_prefix(MAGIC).ok_or("not a WebAssembly module")?;
    let mut cut = Cut { module: MAGIC.to_vec(), names: MAGIC.to_vec() };
    let mut sections = Bytes(body);
    while !sections.0.is_empty() {
        let before = sections.0;
        let section = sections.byte()?;
        let mut content = Bytes(sections.sized()?);
        let whole = &before[..before.len() - sections.0.len()];
        let is_names = section == SECTION_CUSTOM && content.text()? == "name";
        if is_names { &mut cut.names } else { &mut cut.module }.extend_from_slice(whole);
    }
    if cut.names.len() == MAGIC.len() { Err("the module has no names".into()) } else { Ok(cut) }
}

fn check_imports(content: &mut Bytes<'_>, allowed: &[&str]) -> Result<usize, String> {
    let count = content.number()?;
    for _ in 0..count {
        let (from, name) = (content.text()?, content.text()?);
        if !allowed.contains(&from) {
            return Err(format!("the core must not import {from}.{name}"));
        }
        match content.byte()? {
            0 => drop(content.number()?),
            1 => {
                content.byte()?;
                limit(content)?;
            }
            2 => drop(limit(content)?),
            3 => {
                content.byte()?;
                content.byte()?;
            }
            kind => return Err(format!("import {from}.{name} is of unknown kind {kind}")),
        }
    }
    usize::try_from(count).map_err(|_| "too many imports".to_string())
}

/// Limits of a table or memory: minimum, and maximum if the lowest flag is set; in pages.
fn limit(content: &mut Bytes<'_>) -> Result<Option<u64>, String> {
    let flags = content.byte()?;
    content.number()?;
    if flags & 1 == 0 { Ok(None) } else { Ok(Some(content.number()? * PAGE_BYTES)) }
}

struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn byte(&mut self) -> Result<u8, String> {
        let (first, rest) = self.0.split_first().ok_or("the module ends early")?;
        self.0 = rest;
        Ok(*first)
    }
    /// Unsigned LEB128 of at most 32 bits.
    fn number(&mut self) -> Result<u64, String> {
        let mut value = 0;
        for shift in (0..35).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err("a number is too long".into())
    }
    fn sized(&mut self) -> Result<&'a [u8], String> {
        let length = usize::try_from(self.number()?).map_err(|_| "a length is too large")?;
        let (content, rest) = self.0.split_at_checked(length).ok_or("a section ends early")?;
        self.0 = rest;
        Ok(content)
    }
    fn text(&mut self) -> Result<&'a str, String> {
        std::str::from_utf8(self.sized()?).map_err(|_| "a name is not UTF-8".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(sections: &[&[u8]]) -> Vec<u8> {
        [MAGIC, &sections.concat()].concat()
    }

    #[test]
    fn names_are_cut_out_and_all_else_stays() {
        let memory = [5, 4, 1, 1, 1, 2];
        let names = [&[0, 7, 4][..], b"name", &[1, 0]].concat();
        let producers = [&[0, 10, 9][..], b"producers"].concat();
        let cut = cut(&module(&[&memory, &names, &producers])).unwrap();
        assert_eq!(cut.module, module(&[&memory, &producers]));
        assert_eq!(cut.names, module(&[&names]));
    }

    #[test]
    fn a_module_without_names_is_not_cut() {
        assert_eq!(super::cut(&module(&[&[5, 4, 1, 1, 1, 2]])).err(), Some("the module has no names".to_string()));
        assert!(super::cut(b"nothing").is_err());
    }

    #[test]
    fn imports_are_counted_and_strangers_refused() {
        let import = [&[2, 9, 1, 3][..], b"env", &[1], b"f", &[0, 0]].concat();
        let bytes = module(&[&import]);
        assert_eq!(check(&bytes, &["env"]), Ok(Facts { imports: 1, memory_bytes_max: None }));
        assert_eq!(check(&bytes, &["wbg"]), Err("the core must not import env.f".into()));
    }

    #[test]
    fn the_maximum_of_the_memory_is_read() {
        let bytes = module(&[&[5, 4, 1, 1, 1, 16]]);
        assert_eq!(check(&bytes, &[]), Ok(Facts { imports: 0, memory_bytes_max: Some(16 * PAGE_BYTES) }));
        assert_eq!(check(&module(&[&[5, 3, 1, 0, 1]]), &[]), Ok(Facts { imports: 0, memory_bytes_max: None }));
    }

    #[test]
    fn a_module_cut_short_is_an_error() {
        let whole = module(&[&[5, 4, 1, 1, 1, 16]]);
        assert!((MAGIC.len() + 1..whole.len()).all(|length| check(&whole[..length], &[]).is_err()));
        assert!(check(b"text", &[]).is_err());
    }
}
