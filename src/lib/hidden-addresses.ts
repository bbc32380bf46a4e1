/** Texts without the addresses of the network that a program runs in. */

/** Top-level names of networks that are not the internet (RFC 6761, RFC 6762, RFC 8375, and common use). */
const INNER = 'local|localhost|localdomain|lan|internal|intranet|home|corp|private|test|invalid|arpa';
/** A URL of a public website: without a port, a name with a public ending. */
const PUBLIC = `(?:[a-z0-9-]{1,63}\\.){1,8}(?!(?:${INNER})\\b)[a-z]{2,24}(?=[/?#\\s"').,;:!]|$)(?!:\\d)`;
/** What follows a host, without the punctuation of the sentence around it. */
const REST = '(?:[^\\s"\'<>),;]*[^\\s"\'<>).,;:!?])?';
const URL = `\\b(?:https?|wss?|tcp|unix|grpc):/{2,3}(?!${PUBLIC})${REST}`;
const IPV4 = `\\b(?:\\d{1,3}\\.){3}\\d{1,3}\\b(?::\\d{1,5})?(?:/${REST})?`;
const IPV6 = '\\[[0-9a-f:.]{2,45}\\](?::\\d{1,5})?';
const HOST_AND_PORT = `\\b(?:[a-z0-9_-]{1,63}\\.){0,8}[a-z][a-z0-9_-]{0,62}:\\d{2,5}\\b`;
const ADDRESS = new RegExp([URL, IPV4, IPV6, HOST_AND_PORT].join('|'), 'gi');

/** The text with `…` in place of each such address; URLs of public websites stay. Never throws. */
export function hideAddresses(text: string): string {
  return text.replaceAll(ADDRESS, '…');
}
