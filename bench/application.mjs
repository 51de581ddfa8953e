/** The applications of benches: one schema, searched by group. */
import { Writer } from "@brooklet/core";

/** The `services.xml` of an application with one type of document. */
export function servicesOf(type) {
  return `<services version="1.0"><container id="default" version="1.0"><search/><document-api/></container>
<content id="${type}" version="1.0"><redundancy>1</redundancy><documents><document type="${type}" mode="streaming"/></documents>
<nodes><node hostalias="n" distribution-key="0"/></nodes></content></services>`;
}

/** The package of such an application as a cluster takes it, with `[path, text]` of the files that its schema names. */
export function packageOf(type, schema, files = []) {
  const all = [["services.xml", servicesOf(type)], [`schemas/${type}.sd`, schema], ...files];
  const writer = new Writer().varint(all.length);
  for (const [path, text] of all) writer.text(path).text(text);
  return writer.finish();
}
