/** Types of fields as a schema file writes them. What they are in TypeScript is in `codec.ts` and `field.ts`. */

/** Types that contain no others. */
export type PrimitiveName =
  | "string"
  | "int"
  | "long"
  | "byte"
  | "float"
  | "double"
  | "bool"
  | "position"
  | "raw"
  | "uri";

/** The type of a field, an element, or a member. */
export type DataType =
  | { readonly kind: "primitive"; readonly name: PrimitiveName }
  | { readonly kind: "array"; readonly element: DataType }
  | { readonly kind: "weightedset"; readonly element: DataType }
  | { readonly kind: "map"; readonly key: DataType; readonly value: DataType }
  | { readonly kind: "struct"; readonly struct: StructType }
  | { readonly kind: "tensor"; readonly cell: CellType; readonly dimensions: Dimensions };

/** A struct. Without a name it is named after the field that has it. */
export interface StructType {
  readonly name: string | undefined;
  readonly members: Readonly<Record<string, DataType>>;
}

/** What the cells of a tensor are. */
export type CellType = "double" | "float" | "bfloat16" | "int8";

/** Dimensions by name: a size, or `"mapped"` for one whose labels are texts. */
export type Dimensions = Readonly<Record<string, number | "mapped">>;

/** The text of a type in a schema file. `nameOf` gives the names of structs. */
export function dataTypeText(type: DataType, nameOf: (struct: StructType) => string): string {
  switch (type.kind) {
    case "primitive":
      return type.name;
    case "array":
    case "weightedset":
      return `${type.kind}<${dataTypeText(type.element, nameOf)}>`;
    case "map":
      return `map<${dataTypeText(type.key, nameOf)}, ${dataTypeText(type.value, nameOf)}>`;
    case "struct":
      return nameOf(type.struct);
    case "tensor":
      return tensorTypeText(type.cell, type.dimensions);
  }
}

/** The text of a tensor type; dimensions stand in alphabetical order, as the engine orders them. */
export function tensorTypeText(cell: CellType, dimensions: Dimensions): string {
  const texts = dimensionNames(dimensions).map((name) => {
    const size = dimensions[name];
    return size === "mapped" ? `${name}{}` : `${name}[${size}]`;
  });
  return `tensor<${cell}>(${texts.join(",")})`;
}

/** The names of dimensions in the order of the engine. */
export function dimensionNames(dimensions: Dimensions): string[] {
  return Object.keys(dimensions).sort();
}

/** The structs of a type, those inside others first, with the name each would have after `fieldName`. */
export function structsOf(type: DataType, fieldName: string): { readonly struct: StructType; readonly name: string }[] {
  switch (type.kind) {
    case "primitive":
    case "tensor":
      return [];
    case "array":
    case "weightedset":
      return structsOf(type.element, fieldName);
    case "map":
      return [...structsOf(type.key, `${fieldName}_key`), ...structsOf(type.value, fieldName)];
    case "struct": {
      const inner = Object.entries(type.struct.members).flatMap(([name, member]) =>
        structsOf(member, `${fieldName}_${name}`),
      );
      return [...inner, { struct: type.struct, name: type.struct.name ?? `${fieldName}_type` }];
    }
  }
}

/** The distance of two vectors. */
export type DistanceMetric =
  | "euclidean"
  | "angular"
  | "dotproduct"
  | "prenormalized-angular"
  | "hamming"
  | "geodegrees";
