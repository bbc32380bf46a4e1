/** Texts of a table with their values filled in: the same in the gateway and on the page. Pure. */

/** A text, or its forms of plurals. @typedef {string | (Readonly<Partial<Record<Intl.LDMLPluralRule, string>>> & { readonly other: string })} Template */
/** @typedef {{ key: string, values?: Readonly<Record<string, FilledValue>> | undefined }} KeptText a text by its key */
/** @typedef {string | number | KeptText} FilledValue */
/** @typedef {(key: string, values?: Readonly<Record<string, FilledValue>>) => string} Fill */

/** A place for a value in a template. */
export const PLACE = /\{([a-zA-Z]{1,30})\}/g;

/**
 * Makes what gives the text of a key, in the form of plurals that `values.count` asks for. A key that the table lacks is
 * said in English; one that neither has is given back as it is.
 * @param {string} language
 * @param {Readonly<Record<string, Template | undefined>>} table
 * @param {Readonly<Record<string, Template>>} english
 * @returns {Fill}
 */
export function fillFrom(language, table, english) {
  const own = new Intl.PluralRules(language);
  /** @type {Fill} */
  const fill = (key, values = {}) => {
    const translated = table[key];
    const template = translated ?? english[key] ?? key;
    const rules = translated === undefined ? ENGLISH_RULES : own;
    return formOf(template, values['count'], rules).replaceAll(PLACE, (place, /** @type {string} */ name) => {
      const value = values[name];
      if (value === undefined) return place;
      return typeof value === 'object' ? fill(value.key, value.values) : `${value}`;
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
