/** What this process was given by the one that started it, such as the log of a shell. In plain JavaScript, as the launcher. */
import { closeSync, readdirSync, readFileSync } from 'node:fs';

/** `O_CLOEXEC` on Linux: a program that is started does not get the descriptor. Everything that Node.js opens has it. */
const CLOSED_FOR_PROGRAMS = 0o2000000;
const STANDARD = 2;

/**
 * Closes descriptors that every program started from here would get, too: those of the sandbox, MCP servers, the
 * database. Only the standard ones and the channel to a supervisor have a use here. Never throws.
 */
export function closeInherited() {
  if (process.platform !== 'linux') return;
  for (const name of readdirSync('/proc/self/fd')) {
    const fd = Number(name);
    if (fd <= STANDARD || name === process.env['NODE_CHANNEL_FD'] || !isInherited(name)) continue;
    try {
      closeSync(fd);
    } catch {
      // Closed in the meantime.
    }
  }
}

/** @param {string} name */
function isInherited(name) {
  try {
    const [, flags = ''] =
      /^flags:\s*([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${name}`, 'utf8')) ?? [];
    return flags !== '' && (Number.parseInt(flags, 8) & CLOSED_FOR_PROGRAMS) === 0;
  } catch {
    // That of the list itself, which is closed again.
    return false;
  }
}
