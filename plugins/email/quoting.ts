/** What a person has written themselves: without the mail that they answer, and without their signature. Pure. */

/** "On Monday, Ada wrote:" in the languages of common mail programs, on one line. */
const ATTRIBUTION =
  /^(on|am|le|el|il|op|em|den|w dniu|dnia)\b.{3,250}\b(wrote|schrieb|a écrit|escribió|ha scritto|schreef|escreveu|skrev|napisał|napisała)\b.{0,100}:$/i;
/** Outlook's line above the mail that is answered. Forwarded mails stay: they are what is written about. */
const ORIGINAL =
  /^[-_\s]{2,}(original message|ursprüngliche nachricht|message d'origine|mensaje original)[-_\s]{2,}$/i;
const LINE = /^_{5,}$/;
const FROM = /^\*?(from|von|de|da|van|från)\s?:\*?\s/i;
const SENT = /^\*?(sent|gesendet|envoyé|enviado|inviato|verzonden|date|datum|skickat)\s?:\*?\s/i;
const DEVICE =
  /^(sent from my|get outlook for|von meinem \S+ gesendet|gesendet mit|envoyé de mon|enviado desde mi|inviato da)\b/i;
/** Longest signature, in lines. */
const MAX_SIGNATURE = 20;
/** Lines in which the parts of Outlook's header stand. */
const HEADER_LINES = 4;

/** The text without quoted history and signature. A mail of nothing but these is given whole. */
export function ownText(text: string): string {
  const lines = text.replaceAll('\r\n', '\n').split('\n');
  const end = historyStart(lines);
  const body = withoutSignature(lines.slice(0, end));
  const words = body.join('\n').trim();
  return words === '' ? text.trim() : words;
}

/** The line with which the mail that is answered begins: only if nothing of one's own stands below it. */
function historyStart(lines: readonly string[]): number {
  for (const [at, line] of lines.entries()) {
    const words = line.trim();
    const two = `${words} ${lines[at + 1]?.trim() ?? ''}`;
    if (ORIGINAL.test(words)) return at;
    if (isOutlookHeader(lines, at)) return LINE.test(lines[at - 1]?.trim() ?? '') ? at - 1 : at;
    const isAttribution =
      ATTRIBUTION.test(words) || (words !== '' && !words.endsWith(':') && ATTRIBUTION.test(two));
    if ((isAttribution || words.startsWith('>')) && isQuoteToEnd(lines, at)) return at;
  }
  return lines.length;
}

function isOutlookHeader(lines: readonly string[], at: number): boolean {
  const lineAbove = lines[at - 1]?.trim() ?? '';
  if (!FROM.test(lines[at]?.trim() ?? '') || !(lineAbove === '' || LINE.test(lineAbove))) return false;
  return lines.slice(at + 1, at + 1 + HEADER_LINES).some((line) => SENT.test(line.trim()));
}

/** Below the attribution, which may take two lines, everything is quoted or empty. */
function isQuoteToEnd(lines: readonly string[], at: number): boolean {
  const first = lines.findIndex((line, index) => index >= at && line.trimStart().startsWith('>'));
  if (first === -1 || first > at + 3) return false;
  const rest = lines.slice(first).map((line) => line.trim());
  const last = rest.findLastIndex((line) => line.startsWith('>'));
  const tail = rest.slice(last + 1).filter((line) => line !== '');
  const isSignature = /^--\s?$/.test(tail[0] ?? '-- ');
  return isSignature && rest.slice(0, last).every((line) => line === '' || line.startsWith('>'));
}

function withoutSignature(lines: readonly string[]): readonly string[] {
  const at = lines.findLastIndex((line) => /^--\s?$/.test(line));
  const body = at !== -1 && lines.length - at <= MAX_SIGNATURE ? lines.slice(0, at) : lines;
  const last = body.findLastIndex((line) => line.trim() !== '');
  return DEVICE.test(body[last]?.trim() ?? '') ? body.slice(0, last) : body;
}
