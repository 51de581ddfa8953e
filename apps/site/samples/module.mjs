/** A sample as a module: with imports of what it uses of `brooklet`, and with what is given to every sample. */
import ts from "typescript";

/** What samples are given unless they make it themselves, by `given.ts`. */
const GIVEN = ["mail", "db", "client", "alice", "embed", "minilm", "model"];

/**
 * The module of a chain of samples, each of which goes on in the scope of the one before; `at` is told before each begins.
 *
 * @param {readonly string[]} codes
 * @param {{ readonly values: ReadonlySet<string>, readonly types: ReadonlySet<string>, readonly given: string }} known what
 *   `brooklet` exports, and where `given.ts` is
 * @returns {string}
 */
export function moduleOf(codes, { values, types, given }) {
  const code = codes.map((it, index) => `${index === 0 ? "" : `globalThis.__sample?.(${index});\n`}${it}`).join("\n");
  const free = freeNames(code);
  const imported = [...free].filter((name) => values.has(name) || types.has(name)).sort();
  const names = imported.map((name) => (values.has(name) ? name : `type ${name}`));
  const needed = GIVEN.filter((name) => free.has(name));
  const lines = names.length === 0 ? [] : [`import { ${names.join(", ")} } from "brooklet";`];
  if (needed.length > 0)
    lines.push(`import { give } from ${JSON.stringify(given)};`, `const { ${needed.join(", ")} } = await give();`);
  return `${lines.join(" ")}\n${code}\nexport {};\n`;
}

/**
 * The names that a program uses where nothing around them declares them.
 *
 * @param {string} code
 * @returns {ReadonlySet<string>}
 */
export function freeNames(code) {
  const tree = ts.createSourceFile("sample.tsx", code, ts.ScriptTarget.ES2023, true, ts.ScriptKind.TSX);
  /** @type {ts.Identifier[]} */
  const uses = [];
  /** @type {Map<ts.Node, Set<string>>} */
  const declared = new Map();
  /** @param {ts.Node} node */
  const visit = (node) => {
    if (ts.isIdentifier(node)) {
      const scope = scopeOfDeclaration(node);
      if (scope !== undefined) declared.set(scope, (declared.get(scope) ?? new Set()).add(node.text));
      else if (isUse(node)) uses.push(node);
    }
    ts.forEachChild(node, visit);
  };
  visit(tree);
  const isFree = (/** @type {ts.Identifier} */ use) => {
    for (let scope = use.parent; scope !== undefined; scope = scope.parent)
      if (declared.get(scope)?.has(use.text)) return false;
    return true;
  };
  return new Set(uses.filter(isFree).map(({ text }) => text));
}

/**
 * Where a name is known that is declared here; nothing if it is used here.
 *
 * @param {ts.Identifier} node
 * @returns {ts.Node | undefined}
 */
function scopeOfDeclaration(node) {
  const { parent } = node;
  if (ts.isImportClause(parent) || ts.isNamespaceImport(parent) || ts.isImportSpecifier(parent))
    return node.getSourceFile();
  if (!("name" in parent) || parent.name !== node) return undefined;
  if (ts.isTypeParameterDeclaration(parent) || ts.isFunctionExpression(parent) || ts.isClassExpression(parent))
    return parent.parent;
  if (ts.isParameter(parent)) return parent.parent;
  if (ts.isBindingElement(parent)) {
    let whole = /** @type {ts.Node} */ (parent);
    while (ts.isBindingElement(whole) || ts.isObjectBindingPattern(whole) || ts.isArrayBindingPattern(whole))
      whole = whole.parent;
    return ts.isParameter(whole) ? whole.parent : blockOf(whole);
  }
  const isNamed =
    ts.isVariableDeclaration(parent) ||
    ts.isFunctionDeclaration(parent) ||
    ts.isClassDeclaration(parent) ||
    ts.isInterfaceDeclaration(parent) ||
    ts.isTypeAliasDeclaration(parent);
  return isNamed ? blockOf(parent) : undefined;
}

/** @param {ts.Node} node */
function blockOf(node) {
  let block = node.parent;
  while (
    !(
      ts.isBlock(block) ||
      ts.isSourceFile(block) ||
      ts.isForOfStatement(block) ||
      ts.isForStatement(block) ||
      ts.isForInStatement(block)
    )
  )
    block = block.parent;
  return block;
}

/** @param {ts.Identifier} node */
function isUse(node) {
  const { parent } = node;
  if (ts.isPropertyAccessExpression(parent)) return parent.expression === node;
  if (ts.isQualifiedName(parent)) return parent.left === node;
  if (ts.isPropertyAssignment(parent)) return parent.initializer === node;
  if (ts.isBindingElement(parent)) return parent.initializer === node;
  if (ts.isPropertySignature(parent) || ts.isMethodDeclaration(parent) || ts.isPropertyDeclaration(parent))
    return parent.name !== node;
  return !(ts.isImportSpecifier(parent) || ts.isExportSpecifier(parent) || ts.isJsxAttribute(parent));
}
