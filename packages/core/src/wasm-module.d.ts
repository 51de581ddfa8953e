/** A bundler for workerd turns the import of a WebAssembly file into its compiled module. */
declare module "*.wasm" {
  const compiled: WebAssembly.Module;
  export default compiled;
}
