/** The findings for people and programs, and what `--fix` does about them. */
import type { Finding } from '../../protocol/channel.ts';
import { toGatewayError } from '../../protocol/errors.ts';
import { escapeControls, oneLine } from '../../lib/text.ts';
import { PARLEY } from '../../protocol/texts/parley.ts';

const LABELS = { ok: 'ok', warning: 'warning', error: 'error' } as const;
const COLOURS = { ok: '32', warning: '33', error: '31' } as const;

/** Lines for people: level, subject, sentence, followed by how to fix it. */
export function findingLines(findings: readonly Finding[], { colours }: { colours: boolean }): string[] {
  const width = Math.max(0, ...findings.map(({ subject }) => subject.length));
  return findings.flatMap(({ subject, level, text, remedy }) => {
    const label = LABELS[level].padEnd(8);
    const labelText = colours ? `\u001B[${COLOURS[level]}m${label}\u001B[0m` : label;
    const line = `${labelText} ${subject.padEnd(width)}  ${escapeControls(oneLine(text))}`;
    if (level === 'ok' || remedy === undefined) return [line];
    return [line, `${' '.repeat(9 + width)}  → ${escapeControls(oneLine(remedy))}`];
  });
}

/** The last line. */
export function summary(findings: readonly Finding[]): string {
  const count = (level: Finding['level']): number => findings.filter((one) => one.level === level).length;
  const [errors, warnings] = [count('error'), count('warning')];
  if (errors + warnings === 0) return 'No problems found.';
  const fixable = findings.filter(({ fix }) => fix !== undefined).length;
  const more = fixable === 0 ? '' : ` ${PARLEY} doctor --fix corrects ${fixable} of them.`;
  return `Errors: ${errors}, warnings: ${warnings}.${more}`;
}

/** For programs: the same without the functions. */
export function findingsJson(findings: readonly Finding[]): string {
  const plain = findings.map(({ fix, ...rest }) => ({ ...rest, fixable: fix !== undefined }));
  return JSON.stringify(
    { ok: findings.every(({ level }) => level !== 'error'), findings: plain },
    undefined,
    2,
  );
}

/** Applies every fix in order; returns a line for each. Never throws. */
export async function applyFixes(findings: readonly Finding[]): Promise<string[]> {
  const lines: string[] = [];
  for (const { subject, fix } of findings) {
    if (fix === undefined) continue;
    try {
      await fix.apply();
      lines.push(`${subject}: ${fix.done}.`);
    } catch (error) {
      lines.push(`${subject}: could not be corrected: ${toGatewayError(error).message}`);
    }
  }
  return lines;
}
