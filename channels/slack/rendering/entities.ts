/** Reads the text of Slack's messages: converts entities, mentions, links and escapes to plain text. Pure. */

const ENTITY = /<([@#!]?)([^<>|]{1,3000})(?:\|([^<>]{0,3000}))?>/g;

/** Ids of the people whom a text mentions. */
export function mentionedIn(text: string): string[] {
  return [...text.matchAll(/<@([UW][0-9A-Z]{2,30})(?:\|[^<>]*)?>/g)].flatMap(([, id]) => id ?? []);
}

/** The text as people see it; `nameOf` returns the name of a person if it is known. */
export function readText(text: string, nameOf: (id: string) => string | undefined): string {
  const shown = text.replaceAll(
    ENTITY,
    (whole, marker: string, target: string, label: string | undefined) => {
      switch (marker) {
        case '@':
          return `@${nameOf(target) ?? label ?? target}`;
        case '#':
          return `#${label === undefined || label === '' ? target : label}`;
        case '!':
          return commandOf(target, label) ?? whole;
        default:
          return linkOf(target, label);
      }
    },
  );
  return shown.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');
}

/** `<!here>`, `<!subteam^S123|@team>`, `<!date^…|fallback>`. */
function commandOf(target: string, label: string | undefined): string | undefined {
  const [word = ''] = target.split('^');
  if (word === 'here' || word === 'channel' || word === 'everyone') return `@${word}`;
  return label;
}

function linkOf(url: string, label: string | undefined): string {
  const address = url.replace(/^mailto:|^tel:/, '');
  return label === undefined || label === '' || label === address || url.endsWith(`//${label}`)
    ? address
    : `${label} (${address})`;
}

/** The text without the bot's name at its start. */
export function withoutName(text: string, userId: string): string {
  return text.replace(new RegExp(String.raw`^\s*<@${userId}(?:\|[^<>]*)?>[\s,:]*`), '');
}
