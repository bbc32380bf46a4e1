/** What is wrong with settings and profiles, as texts for whoever reads them: the log in English, the page in its language. */
import type { z } from 'zod';
import type { FieldPath } from '../settings.ts';
import { textRef, type TextRef } from '../texts/say.ts';

type Issue = z.core.$ZodIssue;

/** A problem and where it is: a file with line and column, then its field. */
export function problemAt(place: string | TextRef, what: TextRef): TextRef {
  return textRef('problem.at', { place, what });
}

/** A problem of a field; without a path, of the file as a whole. */
export function problemOfField(path: readonly PropertyKey[], what: TextRef): TextRef {
  return problemAt(path.length === 0 ? textRef('problem.file') : path.map(String).join('.'), what);
}

/** How zod's own sentences begin; any other is that of a schema, which says more. */
const GENERAL_SENTENCE = /^(?:Too|Invalid) /;

/** One entry per error of a schema: where, what; never the value, which may be a secret. */
export function schemaProblems(error: z.ZodError): { path: FieldPath; what: TextRef }[] {
  return error.issues.flatMap((issue) => {
    if (issue.code === 'unrecognized_keys')
      return issue.keys.map((key) => ({
        path: [...issue.path, key],
        what: textRef('problem.unknown_field'),
      }));
    const [why = issue] = issue.code === 'invalid_key' ? issue.issues : [];
    return [{ path: issue.path, what: textOfIssue(why) }];
  });
}

/** What an issue of a schema says, with its limits. */
function textOfIssue(issue: Issue): TextRef {
  if (!GENERAL_SENTENCE.test(issue.message)) return textRef('problem.said', { detail: issue.message });
  switch (issue.code) {
    case 'invalid_type':
      return textRef('problem.kind', { kind: KINDS[issue.expected] ?? issue.expected });
    case 'invalid_value':
      return textRef('problem.choice', { choices: issue.values.map(String).join(', ') });
    case 'too_small':
      return tooSmall(issue) ?? asItIs(issue);
    case 'too_big':
      return tooBig(issue) ?? asItIs(issue);
    default:
      return asItIs(issue);
  }
}

/** Kinds of values by the names that zod gives them. */
const KINDS: Readonly<Record<string, TextRef>> = {
  string: textRef('problem.kind.text'),
  number: textRef('problem.kind.number'),
  int: textRef('problem.kind.whole'),
  boolean: textRef('problem.kind.switch'),
  array: textRef('problem.kind.list'),
  object: textRef('problem.kind.object'),
};

function tooSmall({
  origin,
  minimum,
  inclusive,
}: Extract<Issue, { code: 'too_small' }>): TextRef | undefined {
  if (inclusive === false) return undefined;
  const count = Number(minimum);
  if (origin === 'string') return textRef('problem.shortest', { count });
  return isNumber(origin) ? textRef('problem.least', { least: count }) : undefined;
}

function tooBig({ origin, maximum, inclusive }: Extract<Issue, { code: 'too_big' }>): TextRef | undefined {
  if (inclusive === false) return undefined;
  const count = Number(maximum);
  if (origin === 'string') return textRef('problem.longest', { count });
  if (origin === 'array') return textRef('problem.fullest', { count });
  return isNumber(origin) ? textRef('problem.most', { most: count }) : undefined;
}

function isNumber(origin: string): boolean {
  return origin === 'number' || origin === 'int';
}

function asItIs({ message }: Issue): TextRef {
  return textRef('problem.other', { detail: message });
}
