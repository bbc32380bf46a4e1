/** Whether a mail comes from its sender, by what the receiving server has written above it. [RFC 8601] */

/** One method of a header: `dkim=pass header.d=example.org`. */
interface Verdict {
  method: string;
  result: string;
  /** By their names in lower case: `header.from`. */
  properties: Readonly<Record<string, string>>;
}

export interface AuthenticationResults {
  authservId: string;
  verdicts: Verdict[];
}

/** Longest header that is read, in UTF-16 units. */
const MAX_LENGTH = 16_384;

/** Reads an `Authentication-Results`; undefined for one that is malformed. Comments are nothing but comments. Pure. */
export function readResults(value: string): AuthenticationResults | undefined {
  const parts = tokensOf(value.slice(0, MAX_LENGTH));
  if (parts === undefined) return undefined;
  const [head = [], ...rest] = parts;
  const authservId = head[0]?.toLowerCase();
  if (authservId === undefined) return undefined;
  return { authservId, verdicts: rest.flatMap((words) => verdictOf(words)) };
}

/** Words by their parts between semicolons, without comments and quotes; undefined when one is left open. */
function tokensOf(value: string): string[][] | undefined {
  const parts: string[][] = [[]];
  let word = '';
  let depth = 0;
  let isQuoted = false;
  const end = (): void => {
    if (word !== '') parts.at(-1)?.push(word);
    word = '';
  };
  for (let at = 0; at < value.length; at += 1) {
    const sign = value[at] ?? '';
    if (sign === '\\' && (depth > 0 || isQuoted)) {
      at += 1;
      if (isQuoted && depth === 0) word += value[at] ?? '';
    } else if (depth > 0) depth += sign === '(' ? 1 : sign === ')' ? -1 : 0;
    else if (sign === '"') isQuoted = !isQuoted;
    else if (isQuoted) word += sign;
    else if (sign === '(') depth = 1;
    else if (/\s/.test(sign)) end();
    else if (sign === ';') {
      end();
      parts.push([]);
    } else word += sign;
  }
  end();
  return depth > 0 || isQuoted ? undefined : parts;
}

function verdictOf(words: readonly string[]): Verdict[] {
  // White space may stand on both sides of the sign.
  const pairs = words
    .join(' ')
    .replaceAll(/ ?= ?/g, '=')
    .split(' ')
    .map((pair) => pair.split('='));
  const [[method = '', result] = [], ...properties] = pairs;
  if (result === undefined) return [];
  return [
    {
      method: method.toLowerCase().replace(/\/\d+$/, ''),
      result: result.toLowerCase(),
      properties: Object.fromEntries(
        properties.flatMap(([name = '', ...rest]) =>
          rest.length === 0 ? [] : [[name.toLowerCase(), rest.join('=')]],
        ),
      ),
    },
  ];
}

/**
 * Undefined for a mail that the receiving server has found authentic: DMARC passed for the domain of its From, or DKIM or SPF
 * did for that domain or one above it, and DMARC has not failed; otherwise the reason. Only the topmost header of that
 * server counts: everything below it came with the mail. `headers` are those of the mail, in their order.
 */
export function forgeryOf(
  headers: readonly string[],
  authservIds: readonly string[],
  fromDomain: string,
): string | undefined {
  const results = headers
    .map(readResults)
    .find((one) => one !== undefined && authservIds.includes(one.authservId));
  if (results === undefined) return 'it has no Authentication-Results of EMAIL_AUTHSERV_ID';
  const of = (method: string) => results.verdicts.filter((verdict) => verdict.method === method);
  const dmarc = of('dmarc');
  if (dmarc.some(({ result }) => result === 'fail')) return 'DMARC failed';
  const passes = (verdict: Verdict, domain: string): boolean =>
    verdict.result === 'pass' && isAligned(domain, fromDomain);
  const isAuthentic =
    dmarc.some((one) => one.result === 'pass' && domainIn(one.properties['header.from']) === fromDomain) ||
    of('dkim').some((one) =>
      passes(one, domainIn(one.properties['header.d'] ?? one.properties['header.i'])),
    ) ||
    of('spf').some((one) => passes(one, domainIn(one.properties['smtp.mailfrom'])));
  return isAuthentic ? undefined : `neither DMARC nor an aligned DKIM or SPF passed for ${fromDomain}`;
}

/** The domain, or one above it, which controls it. */
function isAligned(domain: string, fromDomain: string): boolean {
  return domain.includes('.') && (fromDomain === domain || fromDomain.endsWith(`.${domain}`));
}

function domainIn(value = ''): string {
  return value.slice(value.lastIndexOf('@') + 1).toLowerCase();
}
