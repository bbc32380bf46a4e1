/** Reads the source of a regular expression into a tree, for texts that are built from its parts. */

/** A part of a pattern. `atom` is one character, as the pattern writes it: `a`, `\s`, `[^"]`. */
export type Part =
  | { kind: 'atom'; source: string }
  | { kind: 'sequence'; parts: Part[] }
  | { kind: 'choice'; options: Part[] }
  | { kind: 'repeat'; body: Part; min: number; max: number }
  /** Consumes nothing: an anchor, a boundary, a look-around with its body, a reference to a group. */
  | { kind: 'assertion'; body?: Part };

/** The tree of a pattern's source. Throws when a bracket is open or a quantifier has nothing to repeat. */
export function readPattern(source: string): Part {
  const reader = new Reader(source);
  const tree = reader.choice();
  if (!reader.done) throw new SyntaxError(`cannot read /${source}/ from position ${reader.at}`);
  return tree;
}

class Reader {
  at = 0;
  readonly #source: string;

  constructor(source: string) {
    this.#source = source;
  }

  get done(): boolean {
    return this.at >= this.#source.length;
  }

  choice(): Part {
    const options = [this.#sequence()];
    while (this.#skip('|')) options.push(this.#sequence());
    return options.length === 1 ? options[0]! : { kind: 'choice', options };
  }

  #sequence(): Part {
    const parts: Part[] = [];
    while (!this.done && !this.#sees('|') && !this.#sees(')')) parts.push(this.#quantified());
    return { kind: 'sequence', parts };
  }

  #quantified(): Part {
    const body = this.#single();
    const [text, least, comma, most] =
      /^(?:[*+?]|\{(\d+)(,?)(\d*)\})\??/.exec(this.#source.slice(this.at)) ?? [];
    if (text === undefined) return body;
    this.at += text.length;
    if (text.startsWith('{')) {
      const min = Number(least);
      return { kind: 'repeat', body, min, max: comma === '' ? min : most === '' ? Infinity : Number(most) };
    }
    return {
      kind: 'repeat',
      body,
      min: text.startsWith('+') ? 1 : 0,
      max: text.startsWith('?') ? 1 : Infinity,
    };
  }

  #single(): Part {
    if (this.#skip('^') || this.#skip('$') || this.#skip(String.raw`\b`) || this.#skip(String.raw`\B`)) {
      return { kind: 'assertion' };
    }
    if (this.#skip('(')) return this.#group();
    const rest = this.#source.slice(this.at);
    const reference = /^\\(?:[1-9]\d*|k<\w+>)/.exec(rest)?.[0];
    if (reference !== undefined) {
      this.at += reference.length;
      return { kind: 'assertion' };
    }
    const [source] =
      /^(?:\[(?:\\.|[^\]\\])*\]|\\(?:u\{[^}]+\}|u[\da-f]{4}|x[\da-f]{2}|[pP]\{[^}]+\}|c[A-Z]|.)|.)/isu.exec(
        rest,
      ) ?? [];
    if (source === undefined || /^[*+?)]$/.test(source))
      throw new SyntaxError(`cannot read ${JSON.stringify(rest)}`);
    this.at += source.length;
    return { kind: 'atom', source };
  }

  #group(): Part {
    const opening = /^\?(?:[:=!]|<[=!]|<\w+>)/.exec(this.#source.slice(this.at))?.[0] ?? '';
    this.at += opening.length;
    const body = this.choice();
    if (!this.#skip(')')) throw new SyntaxError(`a group of /${this.#source}/ is open`);
    return /^\?<?[=!]/.test(opening) ? { kind: 'assertion', body } : body;
  }

  #sees(text: string): boolean {
    return this.#source.startsWith(text, this.at);
  }

  #skip(text: string): boolean {
    if (!this.#sees(text)) return false;
    this.at += text.length;
    return true;
  }
}
