/** Compares what routes answer with what the API's description declares: status, content type, and each JSON body. */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { API } from '../../../channels/http/app.ts';
import { makeDocument } from '../../../channels/http/openapi.ts';

interface Declared {
  content?: Record<string, { schema: object }>;
  $ref?: string;
}

interface Document extends Record<string, unknown> {
  paths: Record<string, Record<string, { responses: Record<string, Declared> }>>;
}

let described: { document: Document; ajv: Ajv2020 } | undefined;

function describeOnce(): NonNullable<typeof described> {
  if (described !== undefined) return described;
  const document: Document = JSON.parse(JSON.stringify(makeDocument(API, '1')));
  // `format: binary` only says what a body is not.
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  ajv.addSchema({ $id: 'api', ...document });
  return (described = { document, ajv });
}

const patterns = Object.groupBy(API, ({ path }) => path);

/** The paths of the table as they match addresses; the router tries those without parameters first. */
const PATHS = Object.keys(patterns)
  .map((path) => ({
    path,
    pattern: new RegExp(`^${path.replaceAll(/:\w+/g, '[^/]+').replace('*', '.*')}$`),
  }))
  .toSorted((a, b) => Number(/[:*]/.test(a.path)) - Number(/[:*]/.test(b.path)));

/** Throws an error for an answer that the description does not declare. Bodies that are not JSON are not read. */
export async function checkDeclared(method: string, url: string, response: Response): Promise<void> {
  const { pathname } = new URL(url);
  const route = PATHS.find(
    ({ path, pattern }) => pattern.test(pathname) && patterns[path]?.some((one) => one.method === method),
  );
  if (route === undefined) return;
  const place = [
    'paths',
    route.path.replaceAll(/:(\w+)/g, '{$1}').replace('*', '{path}'),
    method.toLowerCase(),
    'responses',
  ];
  const { document, ajv } = describeOnce();
  const responses = document.paths[place[1] ?? '']?.[place[2] ?? '']?.responses ?? {};
  const status = [String(response.status), `${String(response.status)[0]}XX`, 'default'].find(
    (one) => one in responses && (one !== 'default' || response.status >= 400),
  );
  const what = `${method} ${route.path} ${response.status}`;
  if (status === undefined) throw new Error(`${what} is not declared`);
  const { $ref } = responses[status] ?? {};
  const at = $ref === undefined ? [...place, status] : $ref.slice(2).split('/');
  const content = contentAt(document, at);
  const type = response.headers.get('content-type')?.split(';')[0] ?? '';
  const declared = [type, `${type.split('/')[0]}/*`, '*/*'].find((one) => one in content);
  if (declared === undefined) {
    if (type === '' || response.status === 304) return;
    throw new Error(`${what} is not declared as ${type}`);
  }
  if (type !== 'application/json') return;
  const pointer = [...at, 'content', declared, 'schema'].map(escaped).join('/');
  const validate: ValidateFunction | undefined = ajv.getSchema(encodeURI(`api#/${pointer}`));
  const body: unknown = await response.clone().json();
  if (validate?.(body) === true) return;
  throw new Error(`${what} is not as declared: ${ajv.errorsText(validate?.errors)}`);
}

function contentAt(document: Document, at: readonly string[]): Record<string, unknown> {
  let found: unknown = document;
  for (const name of [...at, 'content'])
    found =
      typeof found === 'object' && found !== null
        ? Object.entries(found).find(([key]) => key === name)?.[1]
        : undefined;
  return typeof found === 'object' && found !== null ? { ...found } : {};
}

function escaped(part: string): string {
  return part.replaceAll('~', '~0').replaceAll('/', '~1');
}
