/** `brooklet init`: a new folder with a program that works, as `npm create brooklet` makes it. */
import { askProject, createProject, ProjectError, projectReport, usualProject } from "create-brooklet";
import { type Surroundings, UsageError } from "../surroundings.ts";

/** Options of the command. */
export interface InitCommand {
  readonly template?: string;
  /** Ask nothing: what is not said is the usual. */
  readonly yes?: boolean;
  readonly json?: boolean;
}

/** Makes the folder. Asks for what is not said, where somebody is there to answer. */
export async function runInit(
  folder: string | undefined,
  { template, yes, json }: InitCommand,
  { print, warn, input, isAnswered }: Surroundings,
): Promise<void> {
  const wanted = { folder, template };
  const isAsked = isAnswered === true && yes !== true && json !== true;
  const said = isAsked ? await askProject(wanted, input, warn) : usualProject(wanted);
  try {
    const project = createProject(said.folder, said.template);
    if (json === true) print(JSON.stringify(project));
    else for (const line of projectReport(project)) print(line);
  } catch (error) {
    throw error instanceof ProjectError ? new UsageError(error.message, { cause: error }) : error;
  }
}
