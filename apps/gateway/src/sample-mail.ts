/**
 * Mail of users who do not exist, made from templates: the same at every start. The vectors beside it are hashes of
 * words: they show how vectors are stored and searched, and know nothing of meaning.
 */

/** One mail, as it is put. */
export interface SampleMail {
  readonly subject: string;
  readonly body: string;
  readonly sender: string;
  readonly recipients: readonly string[];
  readonly sent_at: Date;
  readonly unread: boolean;
  readonly labels: readonly string[];
  readonly vec: readonly number[];
}

/** Whose mail there is. */
export const SAMPLE_USERS: readonly string[] = ["alice", "bruno", "chiara", "deniz", "emeka", "freya"];

interface Template {
  readonly from: string;
  readonly label: string;
  readonly subject: string;
  readonly body: string;
}

/** What stands in braces is replaced by one of the words of `WORDS`. */
const TEMPLATES: readonly Template[] = [
  {
    from: "billing@{vendor}.example",
    label: "money",
    subject: "Invoice {number} from {vendor}",
    body: "Your invoice {number} over {amount} euros is attached. It is due on {day}. Please name the invoice number when you pay, otherwise we cannot match the payment.",
  },
  {
    from: "billing@{vendor}.example",
    label: "money",
    subject: "Reminder: invoice {number} is unpaid",
    body: "We have not received {amount} euros for invoice {number} yet. If the payment crossed this mail, forget it; if not, {day} would be a good day to pay.",
  },
  {
    from: "{friend}@post.example",
    label: "family",
    subject: "{dish} on {day}?",
    body: "We are making {dish} on {day} and there will be far too much of it. Bring {thing} if you still have it, and tell {other} too. Around seven is fine.",
  },
  {
    from: "{friend}@post.example",
    label: "family",
    subject: "Photos from {place}",
    body: "The photos from {place} are finally sorted. The one with {thing} on the roof is the best. I kept the originals, say so if you want them before {day}.",
  },
  {
    from: "rent@homes.example",
    label: "home",
    subject: "Your lease and the deposit",
    body: "The deposit of {amount} euros is returned within six weeks after the lease ends, less what repairs cost. The handover is on {day}; please bring all keys and read the meters before.",
  },
  {
    from: "caretaker@homes.example",
    label: "home",
    subject: "No warm water on {day}",
    body: "The boiler is replaced on {day} between eight and two. There is no warm water during that time. Somebody has to let the plumber into the cellar; {other} has offered to.",
  },
  {
    from: "{friend}@work.example",
    label: "work",
    subject: "Notes of the meeting about {project}",
    body: "We agreed that {project} ships on {day}. {other} writes the migration, I take the tests. Open question: what happens to old records? The budget of {amount} euros was not discussed.",
  },
  {
    from: "{friend}@work.example",
    label: "work",
    subject: "{project}: the build is red",
    body: "Since this morning the build of {project} fails in the second stage. It looks like {thing} again. I reverted my change, so it is not me this time. Can you look before {day}?",
  },
  {
    from: "alerts@monitor.example",
    label: "work",
    subject: "{project} answers slowly",
    body: "The slowest one percent of requests to {project} took more than {number} milliseconds during the last hour. Disk and memory look normal. This alert closes by itself.",
  },
  {
    from: "travel@tickets.example",
    label: "travel",
    subject: "Your train to {place} on {day}",
    body: "Coach {number}, seat at the window. The train to {place} leaves on {day}. The ticket can be returned for half of its {amount} euros until the evening before.",
  },
  {
    from: "stay@guesthouse.example",
    label: "travel",
    subject: "Your room in {place}",
    body: "We look forward to your stay in {place} from {day}. Breakfast is until ten. The door closes at eleven at night, the code is {number}. The deposit is {amount} euros in cash.",
  },
  {
    from: "practice@doctor.example",
    label: "health",
    subject: "Your appointment on {day}",
    body: "Please come on {day} a little early and bring the insurance card. If you cannot come, call us the day before, so that somebody else can have the appointment.",
  },
  {
    from: "news@library.example",
    label: "reading",
    subject: "{number} is ready for you",
    body: "The book you reserved under number {number} waits at the desk until {day}. You have one more that is overdue: the guide to {place}. Returning it late costs a little every day.",
  },
  {
    from: "{friend}@choir.example",
    label: "music",
    subject: "Rehearsal moved to {day}",
    body: "The hall is taken, so we rehearse on {day} instead, in the school in {place}. Altos please practise the second page. {other} brings {thing}.",
  },
  {
    from: "parcel@delivery.example",
    label: "shopping",
    subject: "Your parcel from {vendor}",
    body: "The parcel with {thing} is on its way and arrives on {day}. If nobody is at home it goes to the neighbour at number {number}. You need no signature.",
  },
  {
    from: "{friend}@garden.example",
    label: "garden",
    subject: "Frost until {day}",
    body: "It freezes again until {day}, so the tomatoes stay inside. I covered the beds with {thing}. The apricot in {place} is already in bloom, which is never good news.",
  },
];

const WORDS: Readonly<Record<string, readonly string[]>> = {
  vendor: ["northwind", "papertrail", "lumen", "kesselhaus", "tidepool", "quartz"],
  friend: ["mara", "jonas", "ines", "tobi", "yuki", "samir", "greta"],
  other: ["Pavel", "Lotte", "Amara", "Henrik", "Noor", "Sofia"],
  dish: ["Lentil soup", "Dumplings", "Shakshuka", "Plum cake", "Risotto", "Flatbread"],
  thing: ["the ladder", "the big pot", "an old blanket", "the projector", "a bicycle pump", "the folding chairs"],
  place: ["Trieste", "Lund", "Porto", "Görlitz", "Ghent", "Ljubljana", "Bergen"],
  project: ["the importer", "the billing page", "search", "the archive", "the phone app"],
  day: ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"],
};

/** How mails end. */
const CLOSINGS: readonly string[] = [
  "Thank you, and have a quiet week.",
  "Write to me if anything is unclear.",
  "No answer is needed.",
  "I am away until {day}, after that I answer everything.",
  "Sorry for the short notice.",
  "The rest can wait until we see each other in {place}.",
  "Please confirm by {day}.",
  "{other} knows more about it than I do.",
  "P.S. Do you still have {thing}?",
  "This mail was written in {place}, with a bad connection.",
];

/** The youngest mail of every mailbox. */
const NEWEST: number = Date.UTC(2026, 10, 20, 18);
const MS_PER_HOUR = 3_600_000;
const HOURS_BETWEEN = 19;
const NUMBER_MIN = 100;
const NUMBER_RANGE = 900;

/** A user's mailbox: `count` mails, the youngest first. */
export function sampleMailbox(user: string, count: number): SampleMail[] {
  const random = randomOf(user);
  const start = random(TEMPLATES.length);
  return Array.from({ length: count }, (_, index) => {
    // Every template comes up, in another order for each user.
    const template = TEMPLATES[(start + index * 7) % TEMPLATES.length] ?? TEMPLATES[0];
    return mailOf(template as Template, user, index, random);
  });
}

function mailOf(template: Template, user: string, index: number, random: (below: number) => number): SampleMail {
  const chosen = new Map<string, string>();
  const fill = (text: string): string => text.replace(/\{(\w+)\}/g, (_, name: string) => choose(name, chosen, random));
  const closing = CLOSINGS[random(CLOSINGS.length)] ?? "";
  const [subject, body, sender] = [template.subject, `${template.body} ${closing}`, template.from].map(fill) as [
    string,
    string,
    string,
  ];
  return {
    subject,
    body,
    sender,
    recipients: random(4) === 0 ? [`${user}@home.example`, fill("{friend}@post.example")] : [`${user}@home.example`],
    sent_at: new Date(NEWEST - (index * HOURS_BETWEEN + random(HOURS_BETWEEN)) * MS_PER_HOUR),
    unread: random(3) === 0,
    labels: random(5) === 0 ? [template.label, "important"] : [template.label],
    vec: hashVector(`${subject} ${body}`),
  };
}

/** One word for each name within a mail. */
function choose(name: string, chosen: Map<string, string>, random: (below: number) => number): string {
  const words = WORDS[name];
  const word = chosen.get(name) ?? words?.[random(words.length)] ?? String(NUMBER_MIN + random(NUMBER_RANGE));
  chosen.set(name, word);
  return word;
}

const DIMENSIONS = 64;
/** Shorter words are in every mail. */
const LETTERS_MIN = 4;

/**
 * A text as a point on a sphere: every word pushes into a direction that is the hash of its letters. Texts with the
 * same words are close; texts that mean the same in other words are not.
 */
export function hashVector(text: string): number[] {
  const sums = new Array<number>(DIMENSIONS).fill(0);
  for (const [word] of text.toLowerCase().matchAll(/[\p{L}\p{N}]+/gu)) {
    if (word.length < LETTERS_MIN) continue;
    const hash = hashOf(word);
    const dimension = hash % DIMENSIONS;
    sums[dimension] = (sums[dimension] ?? 0) + ((hash >>> 8) & 1 ? 1 : -1);
  }
  const length = Math.hypot(...sums) || 1;
  return sums.map((sum) => Math.fround(sum / length));
}

const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

/** FNV-1a of the characters, stirred once more: its lowest bits alone are too regular. */
function hashOf(word: string): number {
  let hash = FNV_OFFSET;
  for (const character of word) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), FNV_PRIME) >>> 0;
  return (hash ^ (hash >>> 15)) >>> 0;
}

/** Numbers that look random and are the same for the same seed (xorshift). */
function randomOf(seed: string): (below: number) => number {
  let state = hashOf(seed) || 1;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
}
