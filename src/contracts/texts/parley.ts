/**
 * How a person calls the command line of this gateway: what every command in a text begins with. Texts of the tables have the
 * place `{parley}` for it. It is decided once, before anything else is loaded (`src/ops/command-here.js`), and stands in the
 * environment, so that the workers of a gateway say the same.
 */
export const PARLEY = process.env['PARLEY_COMMAND'] || 'npx parley';
