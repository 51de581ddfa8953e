/** What a run shows: first the ratios, then the figures they are of. */

const isNumber = (value) => typeof value === "number" && Number.isFinite(value);
const shown = (value, digits) => (isNumber(value) ? value.toFixed(digits) : "–");
const whole = (value) => (isNumber(value) ? Math.round(value).toLocaleString("en") : "–");

/** Rows of equal columns; the first so many are words. */
export function print(rows, wordy = 1) {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  for (const row of rows) {
    const cells = row.map((cell, column) =>
      column < wordy ? cell.padEnd(widths[column]) : cell.padStart(widths[column]),
    );
    process.stdout.write(`  ${cells.join("  ")}\n`);
  }
}

/** Ratios of the processor's time, ours across, the peers down; then the figures of everybody. */
export function showCorpus({ corpus, members }) {
  const size = corpus.documents.toLocaleString("en");
  process.stdout.write(`\n${corpus.name}: ${corpus.groups} groups of ${size} documents\n`);
  const kinds = new Set(members.flatMap(({ kinds: of }) => Object.keys(of)));
  for (const kind of kinds) {
    const able = members.filter((member) => member.kinds[kind]);
    const ours = able.filter(({ peer }) => peer.ours);
    const others = able.filter(({ peer }) => !peer.ours);
    const cpu = (member) => member.kinds[kind].cpu;
    if (ours.length > 0 && others.length > 0) {
      process.stdout.write(`\n ${kind}: a search of the peer by one of ours, in the processor's time\n`);
      const ratio = (other) => (one) => `${(cpu(other) / cpu(one)).toFixed(2)}×`;
      print([
        ["", ...ours.map(({ peer }) => peer.name)],
        ...others.map((other) => [other.peer.name, ...ours.map(ratio(other))]),
      ]);
    }
    process.stdout.write(`\n ${kind}: figures\n`);
    const row = ({ peer, kinds: { [kind]: of } }) => [
      peer.name,
      ...[of.cpu, of.p50, of.p95].map((ms) => shown(ms, 3)),
      shown(of.recall, 4),
    ];
    print([["", "CPU ms", "p50 ms", "p95 ms", "recall"], ...able.map(row)]);
  }
}

/** What is not a search: feeding, bytes, memory, beginning, writing, erasing. */
export function showLifecycles({ corpus, members }) {
  process.stdout.write(`\n${corpus.name}: lifecycle\n`);
  const head = [
    "",
    "fed/s",
    "fed/CPU s",
    "bytes/doc",
    "RSS MiB",
    "anon MiB",
    "new process ms",
    "open+first ms",
    "put ms",
    "erase ms",
  ];
  const row = ({ peer, figures: of }) => [
    peer.name,
    ...[of.feed, of.feedCpu, of.bytes, of.rssMiB, of.anonymousMiB, of.coldMs].map(whole),
    ...[of.firstMs, of.putMs, of.eraseMs].map((ms) => shown(ms, 2)),
  ];
  print([head, ...members.map(row)]);
}
