/** How the doctor's own checks word what they find. */
import type { Finding } from '../../protocol/channel.ts';

/** Nothing to do. */
export function ok(subject: string, text: string): Finding {
  return { subject, level: 'ok', text };
}

/** Something that works, but not as it should. */
export function warning(subject: string, text: string, remedy: string): Finding {
  return { subject, level: 'warning', text, remedy };
}

/** Something that keeps the gateway, or a part of it, from working. */
export function failure(subject: string, text: string, remedy?: string): Finding {
  return { subject, level: 'error', text, remedy };
}
