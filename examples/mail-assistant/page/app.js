/** The page. Everything that comes from mails or from the model is put in as text, never as HTML. */
const at = (id) => document.getElementById(id);
const [form, query, results, facets, answer, reader] = ["form", "query", "results", "facets", "answer", "reader"].map(
  at,
);
const [answerText, sources, count, person, narrow] = ["answer-text", "sources", "count", "person", "narrow"].map(at);
const [pages, newer, older, pageText] = ["pages", "newer", "older", "place"].map(at);
const chosen = { sender: new Set(), folder: new Set(), month: new Set() };
const TITLES = { sender: "From", folder: "Folder", month: "Month" };
const TYPING_MS = 120;
const PREVIEW = 220;
let asking;
let searches = 0;
let page = 1;
let typing;

/** An element with properties and children. */
function make(name, properties = {}, ...children) {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
}

const path = (rest, parameters) =>
  `/api/${encodeURIComponent(person.value)}/${rest}?${new URLSearchParams(parameters)}`;

async function fetched(url) {
  const response = await fetch(url);
  const json = await response.json();
  if (!response.ok) throw new Error(json.message);
  return json;
}

/** A date as people write it; the clock only where it is from today. */
function dated(text) {
  const date = new Date(text);
  const isToday = date.toDateString() === new Date().toDateString();
  return isToday
    ? date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" })
    : date.toLocaleDateString([], { year: "numeric", month: "short", day: "numeric" });
}

/** Date and time, to the minute. */
const moment = (text) => new Date(text).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });

/** Words that are in every text, so that marking them shows nothing. */
const SMALL = new Set(
  "a an and are at be by do does for from has have how i in is it me my of on or the to was what when where which who why will with".split(
    " ",
  ),
);

/** The words of the search that are looked for in texts; small ones only if there are no others. */
function words() {
  const all = (query.value.match(/[\p{L}\p{N}]+/gu) ?? []).map((word) => word.toLowerCase());
  const telling = all.filter((word) => !SMALL.has(word));
  return telling.length === 0 ? all : telling;
}

/** A text with the words of the search marked. */
function marked(text) {
  const looked = new Set(words());
  return text.split(/([\p{L}\p{N}]+)/u).map((part) => (looked.has(part.toLowerCase()) ? make("mark", {}, part) : part));
}

/** The piece of a mail around the first word that was looked for. */
function preview(text) {
  const low = text.toLowerCase();
  const places = words()
    .map((word) => low.indexOf(word))
    .filter((place) => place >= 0);
  const start = places.length === 0 ? 0 : Math.max(0, Math.min(...places) - 60);
  const begin = start === 0 ? 0 : low.indexOf(" ", start) + 1;
  const rest = text.slice(begin);
  // It ends where a word does, unless that is one endless word.
  const piece =
    rest.length <= PREVIEW
      ? rest
      : rest
          .slice(0, PREVIEW)
          .replace(/(?<=\s)\S*$/, "")
          .trimEnd();
  return marked(`${begin > 0 ? "… " : ""}${piece}${piece === rest ? "" : " …"}`.replace(/\s+/g, " "));
}

function resultOf({ id, mail, why, threadMails }) {
  const open = make("button", { type: "button", className: "open" }, ...marked(mail.subject || "(no subject)"));
  open.addEventListener("click", () => read(id));
  const time = make("time", { dateTime: mail.sentAt }, dated(mail.sentAt));
  const about = [make("span", {}, mail.sender), time];
  if (threadMails > 1) about.splice(1, 0, make("span", {}, `${threadMails} mails in the thread`));
  const item = make("li", {}, open, make("div", { className: "about" }, ...about));
  item.append(make("p", {}, ...preview(mail.body)));
  if (why.length > 0) {
    const reasons = make("ul", {}, ...why.map((reason) => make("li", {}, reason)));
    item.append(make("details", {}, make("summary", {}, "Why this mail"), reasons));
  }
  return item;
}

const monthOf = (value) => new Date(`${value}-15T12:00:00Z`).toLocaleDateString([], { year: "numeric", month: "long" });

function facetOf(name, values) {
  const boxes = values.map(({ value, count: found }) => {
    const box = make("input", { type: "checkbox", value, checked: chosen[name].has(value) });
    box.addEventListener("change", () => {
      if (box.checked) chosen[name].add(value);
      else chosen[name].delete(value);
      page = 1;
      search("push");
    });
    return make(
      "label",
      { title: value },
      box,
      make("span", {}, name === "month" ? monthOf(value) : value),
      make("span", { className: "count" }, String(found)),
    );
  });
  return make("fieldset", {}, make("legend", {}, TITLES[name]), ...boxes);
}

/** Values that are chosen stay to be taken back, also when nothing has them any more. */
function withChosen(name, values) {
  const missing = [...chosen[name]].filter((value) => values.every((it) => it.value !== value));
  return [...values, ...missing.map((value) => ({ value, count: 0 }))];
}

/** Facets are made anew; who has just changed one with the keyboard stays on it. */
function showFacets(found) {
  const { activeElement: focused } = document;
  const legendOf = (box) => box.closest("fieldset").firstChild.textContent;
  const place = facets.contains(focused) ? [legendOf(focused), focused.value] : undefined;
  facets.replaceChildren(...Object.keys(TITLES).map((name) => facetOf(name, withChosen(name, found[name]))));
  if (place !== undefined) {
    const boxes = [...facets.querySelectorAll("input")];
    boxes.find((box) => legendOf(box) === place[0] && box.value === place[1])?.focus();
  }
  const many = Object.values(chosen).reduce((sum, values) => sum + values.size, 0);
  narrow.firstElementChild.textContent = many === 0 ? "Narrow the list" : `Narrow the list (${many} chosen)`;
}

/** What is looked for, as it stands in the address: it can be kept, sent, and gone back to. */
function stateOf() {
  const entries = Object.keys(chosen).flatMap((name) => [...chosen[name]].map((value) => [name, value]));
  if (query.value !== "") entries.unshift(["q", query.value]);
  if (page > 1) entries.push(["page", String(page)]);
  return new URLSearchParams(entries);
}

/** Takes it from the address again. */
function restore() {
  const state = new URLSearchParams(location.search);
  const wanted = state.get("person");
  if ([...person.options].some(({ value }) => value === wanted)) person.value = wanted;
  query.value = state.get("q") ?? "";
  for (const [name, values] of Object.entries(chosen)) {
    values.clear();
    for (const value of state.getAll(name)) values.add(value);
  }
  page = Math.max(1, Number.parseInt(state.get("page") ?? "1", 10) || 1);
}

/** Searches; `how` the address is changed: `push` makes a place to go back to, `replace` changes this one, `keep` does neither. */
async function search(how = "replace", isTyping = false) {
  const number = ++searches;
  clearTimeout(typing);
  const state = stateOf();
  const address = `?${new URLSearchParams([["person", person.value], ...state])}`;
  if (how === "push" && address !== location.search) history.pushState(null, "", address);
  else if (how !== "keep") history.replaceState(null, "", address);
  try {
    const list = await fetched(path("search", isTyping ? [...state, ["typing", ""]] : [...state]));
    // An answer that a later search has overtaken is of no use.
    if (number !== searches) return;
    showList(list);
  } catch (error) {
    if (number === searches) count.textContent = error.message;
  }
}

function showList(list) {
  at("outcomes").replaceChildren();
  count.textContent = list.total === 1 ? "1 mail" : `${list.total} mails`;
  results.replaceChildren(...list.hits.map(resultOf));
  if (list.total === 0)
    results.append(make("li", { className: "empty" }, "No mail has these words. Try fewer, or ask a question."));
  pages.hidden = list.pages === 1 && list.page === 1;
  pageText.textContent = `Page ${list.page} of ${list.pages}`;
  newer.disabled = list.page === 1;
  older.disabled = list.page >= list.pages;
  showFacets(list.facets);
}

/** Shows another page, from its beginning. */
async function turn(step) {
  page += step;
  await search("push");
  results.focus();
  at("count").scrollIntoView();
}

/** Puts the text of an answer in, with its citations as buttons. */
function addText(text) {
  const parts = text.split(/(\[\d+(?:, \d+)*\])/);
  for (const part of parts) {
    const numbers = /^\[\d/.test(part) ? part.match(/\d+/g) : undefined;
    if (numbers === undefined) answerText.append(part);
    else answerText.append(...numbers.map(citation));
  }
}

function citation(number) {
  sources.children[Number(number) - 1]?.classList.add("cited");
  const button = make("button", { type: "button", className: "cite", ariaLabel: `Source ${number}` }, `[${number}]`);
  button.addEventListener("click", () => sources.children[Number(number) - 1]?.firstChild.focus());
  return button;
}

function sourceOf({ documentId, field, text }, index) {
  const button = make(
    "button",
    { type: "button" },
    make("b", {}, `[${index + 1}]`),
    field === "subject" ? "Subject: " : "",
    text,
  );
  button.addEventListener("click", () => read(documentId, text));
  return make("li", {}, button);
}

function ask() {
  const question = query.value.trim();
  if (question === "") return query.focus();
  asking?.close();
  answer.hidden = false;
  answerText.replaceChildren();
  sources.replaceChildren();
  answerText.setAttribute("aria-busy", "true");
  asking = new EventSource(path("ask", { q: question }));
  const done = () => {
    asking.close();
    answerText.setAttribute("aria-busy", "false");
  };
  asking.addEventListener("passages", ({ data }) => sources.replaceChildren(...JSON.parse(data).map(sourceOf)));
  asking.addEventListener("text", ({ data }) => addText(JSON.parse(data)));
  asking.addEventListener("end", done);
  asking.addEventListener("failed", ({ data }) => {
    answerText.append(` ${JSON.parse(data)}`);
    done();
  });
  asking.onerror = () => {
    answerText.append(" The connection was lost.");
    done();
  };
}

/** Opens a mail; a passage of it is marked. */
async function read(id, passage) {
  const { mail, others } = await fetched(path("mail", { id }));
  at("reader-subject").textContent = mail.subject;
  at("reader-about").textContent = `${mail.sender} to ${mail.recipient} · ${moment(mail.sentAt)}`;
  const place = passage === undefined ? -1 : mail.body.indexOf(passage);
  const body = at("reader-body");
  if (place < 0) body.replaceChildren(...(passage === undefined ? marked(mail.body) : [mail.body]));
  else
    body.replaceChildren(mail.body.slice(0, place), make("mark", {}, passage), mail.body.slice(place + passage.length));
  at("thread").hidden = others.length === 0;
  at("others").replaceChildren(...others.map((other) => make("li", {}, ...lineOf(other))));
  if (!reader.open) reader.showModal();
  reader.scrollTop = 0;
}

/** A mail beside others: its subject opens it. */
function lineOf({ id, subject, sender, sentAt }) {
  const open = make("button", { type: "button", className: "open" }, subject || "(no subject)");
  open.addEventListener("click", () => read(id));
  const time = make("time", { dateTime: sentAt }, dated(sentAt));
  return [open, make("div", { className: "about" }, make("span", {}, sender), time)];
}

/** Tells why mails that are missed are not in the list. */
async function explainMissing(event) {
  event.preventDefault();
  const about = at("about").value.trim();
  if (about === "") return at("about").focus();
  const outcomes = at("outcomes");
  try {
    const found = await fetched(path("why-not", [...stateOf(), ["about", about]]));
    outcomes.replaceChildren(
      ...found.map(({ place, reasons, ...line }) => {
        const told = place === undefined ? reasons : [`it is number ${place} of the list`];
        return make("li", {}, ...lineOf(line), make("ul", {}, ...told.map((reason) => make("li", {}, reason))));
      }),
    );
    if (found.length === 0) outcomes.append(make("li", {}, "There is no mail with these words in this mailbox."));
  } catch (error) {
    outcomes.replaceChildren(make("li", {}, error.message));
  }
}

/** Moves among the mails of the list. */
function move(step) {
  const opens = [...results.querySelectorAll(".open")];
  const place = opens.indexOf(document.activeElement);
  opens[Math.min(opens.length - 1, Math.max(0, place + step))]?.focus();
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (event.submitter?.name === "ask") ask();
  page = 1;
  search("push");
});
query.addEventListener("input", () => {
  clearTimeout(typing);
  page = 1;
  typing = setTimeout(() => search("replace", true), TYPING_MS);
});
at("missing").addEventListener("submit", explainMissing);
newer.addEventListener("click", () => turn(-1));
older.addEventListener("click", () => turn(1));
addEventListener("popstate", () => {
  restore();
  search("keep");
});
query.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    ask();
    page = 1;
    search("push");
  }
});
document.addEventListener("keydown", (event) => {
  const isTyping = event.target instanceof HTMLInputElement && event.target.type === "search";
  if (event.key === "Escape" && isTyping) {
    // Browsers would empty the field.
    event.preventDefault();
    return query.blur();
  }
  // Letters choose in a list of mailboxes.
  if (isTyping || event.target === person || reader.open || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "/") {
    event.preventDefault();
    query.select();
  } else if (event.key === "j") move(1);
  else if (event.key === "k") move(-1);
});
at("close").addEventListener("click", () => reader.close());
reader.addEventListener("click", (event) => {
  if (event.target === reader) reader.close();
});
person.addEventListener("change", () => {
  for (const values of Object.values(chosen)) values.clear();
  answer.hidden = true;
  asking?.close();
  page = 1;
  search("push");
});

const { people, model } = await fetched("/api/people");
person.replaceChildren(...people.map((name) => make("option", {}, name)));
restore();
at("model").textContent = `Answered by ${model}, from these mails alone.`;
// Where there is room the facets are open; where there is not, the mails come first.
const room = matchMedia("(min-width: 44.01rem)");
const arrange = () => {
  narrow.open = room.matches;
};
room.addEventListener("change", arrange);
arrange();
// On a telephone a focused field would cover half of the page with a keyboard that nobody asked for.
if (matchMedia("(hover: hover)").matches) query.focus();
search();
