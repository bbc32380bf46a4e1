/** What is wrong with a value, in plain text instead of the validator's. */
import type { z } from 'zod';

/** Most issues reported; a value may have thousands. */
const MAX_REPORTED = 8;
const MAX_PATH_CHARS = 100;

/** One line per issue, each beginning with the field. Never throws. */
export function describeIssues({ issues }: z.ZodError): string {
  const shown = issues
    .slice(0, MAX_REPORTED)
    .map((issue) => `- ${placeOf(issue.path)} ${describeIssue(issue)}`);
  const more = issues.length > MAX_REPORTED ? [`- and ${issues.length - MAX_REPORTED} more`] : [];
  return [...shown, ...more].join('\n');
}

function placeOf(path: readonly PropertyKey[]): string {
  return path.length === 0 ? 'the value' : path.map(String).join('.').slice(0, MAX_PATH_CHARS);
}

function describeIssue(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return issue.message.endsWith('received undefined')
        ? `is missing (${issue.expected})`
        : `must be of type ${issue.expected}`;
    case 'invalid_value':
      return `must be ${issue.values.map((value) => JSON.stringify(value)).join(' or ')}`;
    case 'too_small':
      return `must be at least ${issue.minimum}${unitOf(issue.origin)}`;
    case 'too_big':
      return `must be at most ${issue.maximum}${unitOf(issue.origin)}`;
    case 'unrecognized_keys':
      return `has unknown fields: ${issue.keys.join(', ').slice(0, MAX_PATH_CHARS)}`;
    case 'custom':
      return `is refused: ${issue.message}`;
    default:
      return issue.message.startsWith('Invalid') ? 'is not valid' : issue.message;
  }
}

function unitOf(origin: string): string {
  if (origin === 'string') return ' characters long';
  return origin === 'array' || origin === 'set' || origin === 'map' ? ' items long' : '';
}
