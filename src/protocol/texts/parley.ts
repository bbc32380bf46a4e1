/**
 * How to invoke the command line of this gateway: what every command in a text begins with. Texts of the tables have
 * the placeholder `{parley}` for it. It is determined once, before anything else is loaded (`src/launch/command-here.js`),
 * and kept in the environment, so that the workers of a gateway use the same.
 */
export const PARLEY = process.env['PARLEY_COMMAND'] || 'npx parley';
