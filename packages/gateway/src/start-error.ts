/** A server could not be started as it was asked to. The message is for the operator. */
export class StartError extends Error {
  override readonly name = "StartError";
}
