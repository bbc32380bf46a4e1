/**
 * How dangerous a program run is. The sandbox is what protects, not this: a few programs that can only read files pass
 * without a question, and only where no shell could interpret their words differently; everything else asks.
 */
import type { ToolRisk } from '../../contracts/tools/risk.ts';
import type { PlainKey, TextRef } from '../../contracts/texts/say.ts';

/** A program to run, as the tool `exec` accepts it. */
export interface Run {
  command?: string | undefined;
  argv?: string[] | undefined;
}

/** Programs with no option that writes, deletes or starts anything. */
const LOOKING = new Set(
  'ls cat head tail wc pwd echo stat du df uname grep diff cmp md5sum sha256sum basename dirname true'.split(
    ' ',
  ),
);

/** A line that every shell reads as plain words: no quoting, expansion, redirection, pattern or second command. */
const PLAIN_LINE = /^[A-Za-z0-9_.,:@%+/-]+( +[A-Za-z0-9_.,:@%+/-]+)*$/;

/** How much of a command is searched for a warning, in UTF-16 units. */
const MAX_READ_CHARS = 4_000;
/** What people should notice in a command before they allow it; the first match is reported. `then` must follow it. */
const NOTABLE: readonly [pattern: RegExp, why: PlainKey, then?: RegExp][] = [
  [/\b(curl|wget|nc|ncat|ssh|scp|rsync|ftp)\b/, 'risk.network_script', /\|\s*(ba|z|da)?sh\b/],
  [/\b(rm|rmdir|unlink|shred|truncate)\b|\bgit\s+clean\b/, 'risk.deletes'],
  [/\bfind\b/, 'risk.deletes', /-delete\b/],
  [/\b(dd|mkfs(\.\w+)?|fdisk|parted|wipefs)\b/, 'risk.disks'],
  [/\b(curl|wget|nc|ncat|ssh|scp|rsync|ftp|telnet)\b/, 'risk.network'],
  [/\b(sudo|su|doas|chmod|chown|setcap|mount)\b/, 'risk.rights'],
  [/\b(kill|pkill|killall|shutdown|reboot|halt)\b/, 'risk.ends_programs'],
  [/:\(\)\s*\{|\bfork\b/, 'risk.endless'],
];

/** `caution` for a program that only reads, else `dangerous`. Never throws. */
export function riskOfRun(run: Run): ToolRisk {
  const [program = ''] = run.argv ?? (PLAIN_LINE.test(run.command ?? '') ? run.command!.split(' ') : []);
  return LOOKING.has(program) ? 'caution' : 'dangerous';
}

/** What makes a run worth a second look, as the end of "it …". */
export function warningOfRun({ command, argv }: Run): TextRef {
  const line = (command ?? argv?.join(' ') ?? '').slice(0, MAX_READ_CHARS);
  const found = NOTABLE.find(([pattern, , then]) => {
    const at = line.search(pattern);
    return at >= 0 && (then === undefined || then.test(line.slice(at)));
  });
  return { key: found?.[1] ?? 'risk.program' };
}
