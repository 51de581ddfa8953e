/** New projects of templates: what `npm create brooklet` and `brooklet init` are made of. */
export {
  createProject,
  FOLDER_DEFAULT,
  type Project,
  ProjectError,
  TEMPLATE_DEFAULT,
  TEMPLATES,
  type Template,
} from "./project.ts";
export { askProject, usualProject, type Wanted } from "./questions.ts";
export { projectReport } from "./report.ts";
