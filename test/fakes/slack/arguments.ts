/** The arguments of a call of the Web API. */

/** Arguments arrive as a form; lists, objects, numbers and booleans in it are JSON. */
export function readArgs(body: string): Record<string, unknown> {
  const args: Record<string, unknown> = {};
  for (const [name, value] of new URLSearchParams(body)) {
    const isJson = /^[[{]/.test(value) || value === 'true' || value === 'false';
    args[name] = isJson && name !== 'text' && name !== 'filename' ? JSON.parse(value) : value;
  }
  return args;
}
