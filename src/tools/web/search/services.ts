/** The list of kinds of search services, one line each, and what the configuration says about the one in use. */
import { z } from 'zod';
import { variableName } from '../../../protocol/settings.ts';
import { stripEnd } from '../../../lib/text.ts';
import { brave } from './brave.ts';
import type { SearchKind, SearchPlace } from './kind.ts';
import { ollama } from './ollama.ts';
import { searxng } from './searxng.ts';
import { tavily } from './tavily.ts';

/** What `search.kind` may name. */
export const searchKinds = [brave, searxng, tavily, ollama] as const satisfies readonly SearchKind[];

const names = searchKinds.map(({ kind }) => kind);
const listed = names.map((name) => JSON.stringify(name)).join(', ');
const variables = searchKinds.flatMap(({ keyVariable }) => keyVariable ?? []);

/** What a header can contain. */
const API_KEY = /^[\x21-\x7e]+$/;

/** `search` in `config.json`. */
export const searchRule = z.strictObject({
  kind: z
    .enum(names, { error: `must be one of ${listed}` })
    .describe(`the service behind \`web_search\`: ${names.map((name) => `\`${name}\``).join(', ')}`),
  baseUrl: z
    .url({ protocol: /^https?$/, error: 'must be an http or https URL such as http://127.0.0.1:8888' })
    .optional()
    .describe("its address, which may be a private one; needed for `searxng`, else the service's own"),
  apiKeyEnv: variableName()
    .optional()
    .describe(
      `the environment variable with its key; unset = ${variables.map((name) => `\`${name}\``).join(', ')} by kind, none for \`searxng\``,
    ),
});

/** The service in use, and the settings that its errors name. */
export interface SearchSettings extends SearchPlace {
  kind: string;
  /** Where its key comes from; undefined if it has none. */
  keySetting: string | undefined;
  addressSetting: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The service that `search` names, else Brave's with BRAVE_API_KEY, else none. `errors` are sentences that begin with
 * the field, without values.
 */
export function configureSearch(
  file: z.infer<typeof searchRule> | undefined,
  env: Environment,
): { search: SearchSettings | undefined; errors: string[] } {
  const none = { search: undefined, errors: [] };
  if (file === undefined && env['BRAVE_API_KEY'] === undefined) return none;
  const kind: SearchKind = searchKinds.find((one) => one.kind === file?.kind) ?? brave;
  const errors: string[] = [];
  const isMoved = kind === brave && file?.baseUrl === undefined && env['BRAVE_API_ROOT'] !== undefined;
  const baseUrl = file?.baseUrl ?? (isMoved ? env['BRAVE_API_ROOT'] : kind.baseUrl);
  if (baseUrl === undefined)
    errors.push(
      `search.baseUrl: is missing: write the address of your ${kind.label}, such as http://127.0.0.1:8888`,
    );
  const keySetting = file?.apiKeyEnv ?? kind.keyVariable;
  const apiKey = keySetting === undefined ? undefined : env[keySetting];
  if (keySetting !== undefined && apiKey === undefined)
    errors.push(
      `search.${file?.apiKeyEnv === undefined ? 'kind' : 'apiKeyEnv'}: the environment variable ${keySetting} is not set`,
    );
  if (apiKey !== undefined && !API_KEY.test(apiKey))
    errors.push(`${keySetting}: may hold only visible ASCII characters`);
  if (baseUrl === undefined || errors.length > 0) return { search: undefined, errors };
  const addressSetting = isMoved ? 'BRAVE_API_ROOT' : 'search.baseUrl';
  const place = { baseUrl: stripEnd(baseUrl, '/'), apiKey };
  return { search: { kind: kind.kind, ...place, keySetting, addressSetting }, errors };
}
