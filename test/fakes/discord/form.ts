/** Fields of a message in the fake Discord's requests: checked as strictly as on the platform. */
import { type FakeMessage, Refusal } from './platform.ts';

/** Longest content, in UTF-16 units. */
const MAX_CONTENT = 2_000;

/** 50035 with its tree of field errors. */
export function invalidForm(field: string, code: string, message: string): Refusal {
  return new Refusal(400, 50_035, 'Invalid Form Body', { [field]: { _errors: [{ code, message }] } });
}

/**
 * The content as Discord keeps it: without white space at its ends, 1 to 2,000 characters. Counted in UTF-16 units, the
 * larger of the two counts seen in practice.
 */
export function contentOf(body: Record<string, unknown>): string {
  const { content } = body;
  if (content === undefined || content === null)
    throw new Refusal(400, 50_006, 'Cannot send an empty message');
  if (typeof content !== 'string')
    throw invalidForm('content', 'STRING_TYPE_CONVERT', 'Could not interpret value as string.');
  const kept = content.trim();
  if (kept === '') throw new Refusal(400, 50_006, 'Cannot send an empty message');
  if (kept.length > MAX_CONTENT)
    throw invalidForm('content', 'BASE_TYPE_BAD_LENGTH', `Must be ${MAX_CONTENT} or fewer in length.`);
  return kept;
}

/** The content of an edited message: a body without any leaves it as it is. */
export function editedOf(body: Record<string, unknown>, { content }: Pick<FakeMessage, 'content'>): string {
  return body.content === undefined ? content : contentOf(body);
}

/** Like `contentOf`; a message with files needs no text. */
export function captionOf(body: Record<string, unknown>, hasFiles: boolean): string {
  return hasFiles && (body.content === undefined || body.content === '') ? '' : contentOf(body);
}

/** The flags of a message; all but the allowed ones are refused. */
export function flagsOf(body: Record<string, unknown>, allowed: number): number {
  const flags = body.flags ?? 0;
  if (typeof flags !== 'number' || (flags & ~allowed) !== 0)
    throw invalidForm('flags', 'BITWISE_OR_INVALID', 'Invalid flags.');
  return flags;
}

/** The mentions in a text that ping: without `allowed_mentions` all of them. */
export function pingsOf(content: string, body: Record<string, unknown>): string[] {
  const allowed: unknown = body.allowed_mentions;
  const parse: unknown =
    typeof allowed === 'object' && allowed !== null && 'parse' in allowed ? allowed.parse : undefined;
  const kinds: unknown[] = Array.isArray(parse) ? parse : ['everyone', 'users', 'roles'];
  const text = content.replaceAll(/```[\s\S]*?```|`[^`]*`/g, '');
  const found: string[] = [];
  if (kinds.includes('everyone')) found.push(...(text.match(/@(?:everyone|here)/g) ?? []));
  if (kinds.includes('users')) found.push(...(text.match(/<@!?\d+>/g) ?? []));
  if (kinds.includes('roles')) found.push(...(text.match(/<@&\d+>/g) ?? []));
  return found;
}
