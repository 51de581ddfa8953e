/** Judged questions: what is asked, and which documents answer it. Checked where they come in. */
import { invalidArgument, shownId } from "@brooklet/client";
import type { Grades } from "./measures.ts";

/** A question and what is good for it. */
export interface JudgedQuestion {
  readonly question: string;
  /** How good documents are, by their ids, whole ones or those they were put under: 2 answers, 1 helps, 0 is no good; or the ids of those that answer, all alike. */
  readonly answers: Grades | readonly string[];
  /** Whose documents are asked; that of the evaluation unless it is said. */
  readonly group?: string;
}

/** A question that was checked. */
export interface CheckedQuestion {
  readonly question: string;
  readonly grades: Grades;
  readonly group: string | undefined;
}

const QUESTIONS_MAX = 100_000;
const GRADE_MAX = 30;
const MEMBERS = ["question", "answers", "group"];

/** Checks questions, wherever they come from. `source` begins what is told of them. */
export function checkedQuestions(judged: unknown, source: string): readonly CheckedQuestion[] {
  if (!Array.isArray(judged)) throw invalidArgument(`${source}: expected a list of { question, answers }`);
  if (judged.length === 0) throw invalidArgument(`${source}: there is no question`);
  if (judged.length > QUESTIONS_MAX)
    throw invalidArgument(`${source}: ${judged.length} questions are more than ${QUESTIONS_MAX}`);
  return judged.map((one: unknown, index) => checkedQuestion(one, `${source}[${index}]`));
}

function checkedQuestion(one: unknown, place: string): CheckedQuestion {
  if (typeof one !== "object" || one === null) throw invalidArgument(`${place}: expected { question, answers }`);
  const { question, answers, group } = one as Readonly<Record<string, unknown>>;
  const stranger = Object.keys(one).find((name) => !MEMBERS.includes(name));
  if (stranger !== undefined) throw invalidArgument(`${place}: a judged question has no '${stranger}'`);
  if (typeof question !== "string" || question.trim() === "")
    throw invalidArgument(`${place}.question: expected a text that is not empty`);
  if (group !== undefined && typeof group !== "string") throw invalidArgument(`${place}.group: expected a name`);
  return { question, grades: checkedGrades(answers, `${place}.answers`), group };
}

function checkedGrades(answers: unknown, place: string): Grades {
  if (typeof answers !== "object" || answers === null)
    throw invalidArgument(`${place}: expected ids with their grades, as in { "m1": 2 }, or a list of ids`);
  const entries = Array.isArray(answers)
    ? answers.map((id: unknown): [unknown, unknown] => [id, 1])
    : Object.entries(answers);
  for (const [id, grade] of entries) {
    if (typeof id !== "string" || id === "")
      throw invalidArgument(`${place}: ${JSON.stringify(id)} is no id of a document`);
    if (typeof grade !== "number" || !(grade >= 0 && grade <= GRADE_MAX))
      throw invalidArgument(
        `${place}.${id}: ${JSON.stringify(grade)} is no grade: give a number from 0 to ${GRADE_MAX}`,
      );
  }
  if (!entries.some(([, grade]) => Number(grade) > 0))
    throw invalidArgument(`${place}: no document answers, so that nothing can be measured`);
  return Object.fromEntries(entries.map(([id, grade]) => [shownId(String(id)), grade])) as Grades;
}
