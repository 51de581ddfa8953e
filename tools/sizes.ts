/** The law of sizes: what of the repository is larger than tools/sizes.json lets it be. */

/** The law. */
export interface Sizes {
  readonly folderFiles: number;
  readonly packageLines: number;
  readonly crateLines: number;
  /** Rooms that may be larger, and why. */
  readonly larger: readonly { readonly room: string; readonly lines: number; readonly reason: string }[];
}

/** A file of a room, without its tests. */
export interface SizedFile {
  /** From the root, with `/`. */
  readonly path: string;
  readonly lines: number;
}

/** Rooms with more lines than they may have, and exceptions that are none any more. */
export function largeRooms(files: readonly SizedFile[], law: Sizes): readonly string[] {
  const lines = new Map<string, number>();
  for (const file of files) {
    const room = file.path.split("/").slice(0, 2).join("/");
    lines.set(room, (lines.get(room) ?? 0) + file.lines);
  }
  const usual = (room: string): number => (room.startsWith("crates/") ? law.crateLines : law.packageLines);
  const large = [...lines].flatMap(([room, count]) => {
    const most = law.larger.find((one) => one.room === room)?.lines ?? usual(room);
    return count > most ? [`${room} has ${count} lines, of ${most} at most`] : [];
  });
  const gone = law.larger
    .filter(({ room }) => (lines.get(room) ?? 0) <= usual(room))
    .map(({ room }) => `tools/sizes.json: ${room} need not be larger any more`);
  return [...large, ...gone];
}

/** Folders with more files than they may have. */
export function fullFolders(files: readonly SizedFile[], { folderFiles }: Sizes): readonly string[] {
  const counts = new Map<string, number>();
  for (const { path } of files) {
    const folder = path.slice(0, path.lastIndexOf("/"));
    counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  return [...counts]
    .filter(([, count]) => count > folderFiles)
    .map(([folder, count]) => `${folder} has ${count} files, of ${folderFiles} at most`);
}
