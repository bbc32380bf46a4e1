/** What is wrong with files: in English, and as texts that a client can word for another reader. */
import { inEnglish, type TextRef } from '../../../../src/protocol/texts/say.ts';
import { HttpError } from '../../errors.ts';

/** The fields of an answer that lists problems. */
export function wireProblems(problems: readonly TextRef[]): {
  errors: string[];
  problems: readonly TextRef[];
} {
  return { errors: problems.map((problem) => inEnglish.text(problem)), problems };
}

/** 400 for changes that were not made, with every problem. */
export function refusedChange(code: string, problems: readonly TextRef[]): HttpError {
  const lines = [inEnglish('problem.nothing_changed'), ...wireProblems(problems).errors];
  return new HttpError(400, code, lines.join('\n'), { problems });
}
