/**
 * The judged sets, all written for this project: one person's notes, which are made here, and conversations and abstracts,
 * which stand in `judged/`. Of the notes some questions share hardly a word with their answer, and some ask for a number or
 * code that many notes are nearly like; the other sets ask as people do, in the words of the answer or in others.
 */
import { readFileSync } from "node:fs";

/** Texts by their ids, and what is asked of them. */
export interface JudgedSet {
  readonly name: string;
  readonly texts: ReadonlyMap<string, string>;
  readonly questions: readonly {
    readonly question: string;
    /** How good each text that is any good is: 2 answers, 1 helps. */
    readonly answers: Readonly<Record<string, number>>;
  }[];
}

/** A question and the id of the note that answers it. */
interface Judged {
  readonly question: string;
  readonly answer: string;
}

/** Question, the note that answers it, and a note that is about nearly the same and does not. */
const ASKED: readonly (readonly [question: string, answer: string, other: string])[] = [
  [
    "How can I get back into my account?",
    "If you have forgotten your password, choose 'Forgotten' on the sign-in page and confirm the code on your phone.",
    "The new account managers introduce themselves on Monday.",
  ],
  [
    "When do I get the money back that I gave the landlord?",
    "The deposit is repaid at the latest six weeks after the keys were handed over.",
    "The landlord asks that bicycles are not left in the hallway.",
  ],
  [
    "What am I not allowed to eat before the blood test?",
    "Please come to the laboratory with an empty stomach; only water is permitted from midnight on.",
    "The canteen tests a new menu of soups this week.",
  ],
  [
    "Who looks after the cat while we are away?",
    "Our neighbour Frida feeds Minka from the 3rd to the 17th and has the spare key.",
    "Cats need a vaccination against rabies once a year.",
  ],
  [
    "Where do the children sleep at the summer house?",
    "At the lake cottage the twins take the bunk bed in the attic; we have the room with the stove.",
    "The summer house was painted red by the previous owners.",
  ],
  [
    "Which vegetables can still be planted in autumn?",
    "Garlic and winter lettuce go into the ground in October, before the first frost.",
    "In spring the tulips come up before the trees have leaves.",
  ],
  [
    "Why was the train late?",
    "A fallen tree blocked the line near Eschede, so everybody arrived two hours after schedule.",
    "Trains to the coast have free wireless since May.",
  ],
  [
    "Is the car safe to drive?",
    "The mechanic says the brakes are worn to the metal: do not use it until Thursday.",
    "The car park under the theatre closes at midnight.",
  ],
  [
    "How loud may we celebrate?",
    "After ten in the evening, house rules ask for windows closed and music at room volume.",
    "The celebration of the town's 900 years begins with fireworks.",
  ],
  [
    "What is the doctor worried about?",
    "Dr. Osei finds your blood pressure too high and wants to see you again in a fortnight.",
    "The doctor's practice moves to Mill Lane 4.",
  ],
  [
    "What gift would grandfather like?",
    "Grandpa has been wishing for a dark green scarf ever since his old one was lost.",
    "Grandfather clocks are repaired by the workshop in Weir Street.",
  ],
  [
    "How do I make the dough rise?",
    "Let the yeast stand in warm milk with a pinch of sugar until it foams, then knead for ten minutes.",
    "The bakery at the corner is closed on Tuesdays.",
  ],
  [
    "Who pays for the broken window?",
    "The liability insurance of the neighbours covers the pane that their son's football smashed.",
    "New windows would lower the heating costs by a fifth.",
  ],
  [
    "Can I work from home on Fridays?",
    "The last working day of the week may be spent remotely if your team lead agrees.",
    "Fridays the cafeteria serves fish.",
  ],
  [
    "What should I pack against the rain?",
    "The forecast for the Faroe Islands says showers all week: take waterproof trousers and boots.",
    "The suitcase with the broken wheel is in the cellar.",
  ],
  [
    "Which film did Sara recommend?",
    "Sara says we must see 'The Lighthouse Keepers', it made her cry twice.",
    "The cinema in the old brewery was sold.",
  ],
  [
    "How much does the kindergarten cost?",
    "The monthly fee for a full-day place is 214 euros, lunch included.",
    "The kindergarten looks for parents who can read aloud.",
  ],
  [
    "When does the new employee begin?",
    "Tomasz joins the design team on the first of February.",
    "Employees get a discount in the gym next door.",
  ],
  [
    "What happened to the laptop?",
    "The screen stayed black after coffee ran into the keyboard; the data could be rescued.",
    "Laptops must be switched off during take-off.",
  ],
  [
    "Where can I park for the concert?",
    "Use the meadow behind the fire station; from there a shuttle bus goes to the arena every ten minutes.",
    "The concert hall gets a new organ.",
  ],
  [
    "How did we do last quarter?",
    "Sales from July to September were 12 per cent above plan, mostly thanks to the new shop in Porto.",
    "The quarterly newsletter is printed on recycled paper.",
  ],
  [
    "What does the tenant complain about?",
    "Mr. Ruiz reports mould in the corner of the bedroom and asks for an expert.",
    "Tenants get new letterboxes next week.",
  ],
  [
    "Who is allergic?",
    "Lina must not have anything with peanuts: last time she could hardly breathe.",
    "Allergies are more common in cities, a study says.",
  ],
  [
    "What is the wireless code?",
    "Guests log in to the network 'Harbour' with the key blue-whale-77.",
    "Wireless telephones interfere with the baby monitor.",
  ],
  [
    "How can I cancel the gym?",
    "Membership ends if you give notice in writing one month before the end of the year.",
    "The gym has new rowing machines.",
  ],
  [
    "When is the heating repaired?",
    "The plumber comes on Wednesday between eight and twelve to replace the pump of the radiators.",
    "Heating with wood gets dearer.",
  ],
  [
    "What was decided about the logo?",
    "We keep the anchor, but in a lighter blue and without the rope.",
    "Decisions of the board are kept in the green folder.",
  ],
  [
    "Why is the delivery late?",
    "The parcel got stuck at customs because the invoice was missing.",
    "Deliveries are accepted at the back door.",
  ],
  [
    "Which vaccination do I need for Kenya?",
    "For Nairobi you need protection against yellow fever, ten days before departure at the latest.",
    "Kenya won three medals in the long distance.",
  ],
  [
    "How do I prune the apple tree?",
    "Cut the inner branches in late winter so that light reaches every fruit.",
    "Apple juice is pressed in the village on Saturday.",
  ],
  [
    "Where is the will kept?",
    "Mother's testament lies with the notary Brandt in Kassel, a copy is in the safe.",
    "Will the weather hold for the picnic? Nobody knows.",
  ],
  [
    "What should I do when the alarm rings?",
    "Leave the building by the stairs at once and gather at the big oak.",
    "The alarm clock was a present from Nora.",
  ],
  [
    "How old is the house?",
    "The farm was built in 1788 and got its second floor a century later.",
    "House prices have doubled in ten years.",
  ],
  [
    "Who sings the solo?",
    "Beatrice takes the soprano part in the second movement; Hanna stands in for her.",
    "Solo travellers pay less for cabins in November.",
  ],
  [
    "How far is it to the hut?",
    "From the car park it is a four-hour climb to the refuge, the last part over snow.",
    "The hut sells its own cheese.",
  ],
  [
    "Can the meeting be moved?",
    "I cannot make it at two; would Thursday at half past nine suit you as well?",
    "Meetings without agenda are a waste of time.",
  ],
  [
    "What is wrong with the washing machine?",
    "It leaks from the rubber seal of the door, which costs thirty euros to replace.",
    "Washing powder is on offer this week.",
  ],
  [
    "When do the holidays of the school begin?",
    "Pupils are free from the 22nd of July on, for six weeks.",
    "The school library got forty new novels.",
  ],
  [
    "What did the court decide?",
    "The judge found for us: the neighbour must take down the fence by the end of May.",
    "The tennis court is being resurfaced.",
  ],
  [
    "How do I get from the airport to the hotel?",
    "Take the red underground line to Alameda, change to the green one, and get off at Rossio.",
    "The hotel's pool is heated.",
  ],
  [
    "What does the baby weigh?",
    "Little Jonas came into the world at 3 a.m. with 3,480 grams.",
    "Babies sleep up to seventeen hours a day.",
  ],
  [
    "Which wine goes with the fish?",
    "With the pike-perch we drink the dry Silvaner from Franconia.",
    "Fish is delivered fresh on Fridays.",
  ],
  [
    "Who won the chess tournament?",
    "Mikhail beat everyone and took the cup home for the third time.",
    "Chess is played in the park when the sun shines.",
  ],
  [
    "What medicine should I take for my headache?",
    "Against the migraine: one tablet of sumatriptan at the first sign, never more than two a day.",
    "The pharmacy has moved to the station.",
  ],
];

/** What each family of similar notes is about; `#` is the code, `@` the number that the note tells. */
const FAMILIES: readonly (readonly [question: string, note: string])[] = [
  ["What does invoice # come to?", "Invoice # over @ euros is due within two weeks."],
  ["Where was parcel # left?", "Parcel # was left with the neighbour at number @."],
  ["Which seat do I have with booking #?", "Booking # is confirmed: seat @, hand luggage included."],
  ["What is the state of ticket #?", "Support ticket # was passed on to engineer @."],
  ["In which room is course #?", "Course # takes place in room @ of the main building."],
  ["Which shelf has part #?", "Spare part # lies on shelf @ of the store."],
  ["How many copies of order # were printed?", "Order #: @ copies were printed and packed."],
  ["What did meter # show?", "Meter # was read: @ kilowatt hours."],
  ["Which gate does flight # leave from?", "Flight # leaves from gate @ today."],
  ["When does contract # end?", "Contract # runs for another @ months."],
  ["How many points does policy # give?", "Policy # brings @ bonus points."],
  ["What is the balance of account #?", "The balance of account # is @ euros."],
  ["Which track is train # on?", "Train # arrives on track @."],
  ["How many seats does table # have?", "Table # is reserved for @ people."],
  ["Which version fixes bug #?", "Bug # is fixed in version @."],
  ["What is the score of match #?", "Match # ended with @ points for us."],
  ["How long is route #?", "Route # is @ kilometres long."],
  ["Which locker belongs to badge #?", "Badge # opens locker @."],
  ["What does sample # contain?", "Sample # contains @ milligrams of iron."],
  ["Which page has recipe #?", "Recipe # stands on page @."],
  ["How tall is tower #?", "Tower # is @ metres tall."],
  ["What did auction lot # sell for?", "Lot # of the auction was sold for @ euros."],
];

const NOTES_OF_FAMILY = 11;
/** Letters of codes, without those that look alike. */
const LETTERS = "ABCDEFGHKLMNPRSTUVWXYZ";

/** The notes by their ids. */
const notes: ReadonlyMap<string, string> = new Map([
  ...ASKED.flatMap(([, answer, other], index): [string, string][] => [
    [`answer-${index}`, answer],
    [`other-${index}`, other],
  ]),
  ...FAMILIES.flatMap(([, note], family) =>
    Array.from({ length: NOTES_OF_FAMILY }, (_, member): [string, string] => [
      `family-${family}-${member}`,
      note.replace("#", code(family, member)).replace("@", String(11 + ((family * 37 + member * 53) % 480))),
    ]),
  ),
]);

/** The questions. */
const judged: readonly Judged[] = [
  ...ASKED.map(([question], index) => ({ question, answer: `answer-${index}` })),
  ...FAMILIES.map(([question], family) => {
    const member = (family * 5) % NOTES_OF_FAMILY;
    return { question: question.replace("#", code(family, member)), answer: `family-${family}-${member}` };
  }),
];

function code(family: number, member: number): string {
  const letter = (at: number): string => LETTERS.charAt((family * 7 + at * 5) % LETTERS.length);
  return `${letter(1)}${letter(2)}${String(1_000 + family * 131 + member * 17)}`;
}

function stored(name: string): JudgedSet {
  const file = new URL(`./judged/${name}.json`, import.meta.url);
  const { texts, questions } = JSON.parse(readFileSync(file, "utf8")) as {
    readonly texts: Readonly<Record<string, string>>;
    readonly questions: JudgedSet["questions"];
  };
  return { name, texts: new Map(Object.entries(texts)), questions };
}

/** The sets. */
export const judgedSets: readonly JudgedSet[] = [
  {
    name: "notes",
    texts: notes,
    questions: judged.map(({ question, answer }) => ({ question, answers: { [answer]: 2 } })),
  },
  stored("conversations"),
  stored("abstracts"),
];
