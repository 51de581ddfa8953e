/** The application package that a server was deployed with, file by file. */
import { connect } from "../../node/connect.ts";
import { keyHeader, type Server, serverOf } from "../server.ts";
import { ServerFailure } from "../surroundings.ts";

const CONTENT =
  "/application/v2/tenant/default/application/default/environment/prod/region/default/instance/default/content/";

/** A file of the package; its name is the path in it, with `/`. */
export interface DeployedFile {
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** The files, of which `isWanted` may leave some out before they are read. */
export async function* deployedFiles(
  server: Server,
  isWanted: (name: string) => boolean = () => true,
): AsyncGenerator<DeployedFile, void, undefined> {
  const target = `${CONTENT}?recursive=true`;
  const list = (await connect(serverOf(server)).request({ method: "GET", target, isRepeatable: true })).json;
  const names = (list as readonly string[]).map((address) => decodeURIComponent(address.split("/content/")[1] ?? ""));
  for (const name of names.filter((one) => !one.endsWith("/") && isWanted(one))) {
    const answer = await fetch(server.url + CONTENT + name.split("/").map(encodeURIComponent).join("/"), {
      headers: keyHeader(server),
    });
    if (!answer.ok) throw new ServerFailure(`${name} could not be read: the server answered ${answer.status}`);
    yield { name, bytes: new Uint8Array(await answer.arrayBuffer()) };
  }
}
