/** Texts of a table with their values filled in: the same in the gateway and on the page. Pure. */

/** A text, or its forms of plurals. @typedef {string | (Readonly<Partial<Record<Intl.LDMLPluralRule, string>>> & { readonly other: string })} Template */
/** @typedef {{ key: string, values?: Readonly<Record<string, FilledValue>> | undefined }} KeptText a text by its key */
/** @typedef {string | number | KeptText} FilledValue */
/** @typedef {(name: string) => string} WriteCommand how a reader writes a command: `stop` as `/stop` */
/** @typedef {(key: string, values?: Readonly<Record<string, FilledValue>>, write?: WriteCommand) => string} Fill */

/** A place for a value in a template, for a command, or for the command line's own name: `{count}`, `{/stop}`, `{parley}`. */
export const PLACE = /\{(\/?[a-zA-Z]{1,30})\}/g;

/** The way most networks write commands. @type {WriteCommand} */
export const withSlash = (name) => `/${name}`;

/**
 * Makes the function that returns the text of a key, in the plural form for `values.count`, with commands as `write`
 * writes them, by default with a slash, and the command line as `parley` names it. A key that the table lacks is in
 * English; one that neither has is returned unchanged.
 * @param {string} language
 * @param {Readonly<Record<string, Template | undefined>>} table
 * @param {Readonly<Record<string, Template>>} english
 * @param {string} parley
 * @returns {Fill}
 */
export function fillFrom(language, table, english, parley) {
  const pluralRules = new Intl.PluralRules(language);
  /** @type {Fill} */
  const fill = (key, values = {}, write = withSlash) => {
    const translated = table[key];
    const template = translated ?? english[key] ?? key;
    const rules = translated === undefined ? ENGLISH_RULES : pluralRules;
    return formOf(template, values['count'], rules).replaceAll(PLACE, (place, /** @type {string} */ name) => {
      if (name.startsWith('/')) return write(name.slice(1));
      if (name === 'parley') return parley;
      const value = values[name];
      if (value === undefined) return place;
      return typeof value === 'object' ? fill(value.key, value.values, write) : `${value}`;
    });
  };
  return fill;
}

const ENGLISH_RULES = new Intl.PluralRules('en');

/**
 * @param {Template} template
 * @param {FilledValue | undefined} count
 * @param {Intl.PluralRules} rules
 */
function formOf(template, count, rules) {
  if (typeof template === 'string') return template;
  return template[rules.select(Number(count))] ?? template.other;
}
