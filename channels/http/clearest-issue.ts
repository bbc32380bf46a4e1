/** What is wrong with a body, in one line: of a union's alternatives the one that the body comes closest to. */
import type { z } from 'zod';

/** A place in a body, and what is wrong there. */
export interface BodyIssue {
  path: PropertyKey[];
  message: string;
}

/** The first issue; in a union without words of its own, the one that lies deepest. Never throws. */
export function clearestIssue({ issues: [issue] }: Pick<z.ZodError, 'issues'>): BodyIssue {
  if (issue === undefined) return { path: [], message: 'invalid' };
  const { path, message } = issue;
  if (issue.code !== 'invalid_union' || message !== UNWORDED) return { path, message };
  const inner = issue.errors
    .map((issues) => clearestIssue({ issues }))
    .toSorted((a, b) => b.path.length - a.path.length)[0];
  return inner === undefined ? { path, message } : { path: [...path, ...inner.path], message: inner.message };
}

/** Zod's own message for a union. */
const UNWORDED = 'Invalid input';
