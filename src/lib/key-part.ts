/** Parts of keys that are separated by colons. An equals sign needs no escape in a URL's path. */

/** The part without a colon; nothing changes where there is no colon and no equals sign. */
export function escapeKeyPart(part: string): string {
  return part.replaceAll('=', '=3D').replaceAll(':', '=3A');
}

/** Undoes `escapeKeyPart`; any other equals sign stays. */
export function readKeyPart(part: string): string {
  return part.replaceAll('=3A', ':').replaceAll('=3D', '=');
}
