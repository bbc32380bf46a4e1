/** `mcp.servers` of config.json: validated, with the variables that it refers to filled in. */
import { z } from 'zod';

/** Maximum number of servers of one gateway. */
export const MAX_SERVERS = 16;
/** Server names are prefixes of tool names (`notes__search`), so the two underscores must not occur in them. */
const SERVER_NAME = /^[a-z0-9]+(?:[_-][a-z0-9]+)*$/;
const MAX_NAME_CHARS = 32;
/** Names with another meaning in lists of tools. */
const RESERVED = ['mcp'];
/** A reference to a variable of the gateway's environment, in `args`, `env` and `headers`. */
const REFERENCE = /\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g;
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;
const HEADER = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** Maximum duration of one call unless the server has `timeoutMs`, in milliseconds. */
const DEFAULT_TIMEOUT_MS = 60_000;
const MAX_TIMEOUT_MS = 60 * 60_000;

const value = z.string().max(8_192);

const server = z
  .strictObject({
    command: z
      .string()
      .min(1)
      .max(4_096)
      .optional()
      .describe('a program of this machine that is the server; or `url`'),
    args: z
      .array(value)
      .max(100)
      .optional()
      .describe(
        "its arguments; `${VARIABLE}` stands for a variable of the gateway's environment, here and in `env` and `headers`",
      ),
    env: z
      .record(z.string().regex(VARIABLE, 'is not the name of a variable'), value)
      .optional()
      .describe(
        "its variables; from the gateway's own it gets `PATH`, `HOME`, `TMPDIR`, `LANG`, `LC_ALL` and `TZ`",
      ),
    cwd: z
      .string()
      .min(1)
      .max(4_096)
      .optional()
      .describe('the folder it runs in; unset = `mcp/<name>` in `GATEWAY_HOME`'),
    url: z
      .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
      .optional()
      .describe('address of a server over HTTP, any address; or `command`'),
    headers: z
      .record(z.string().regex(HEADER, 'is not the name of a header'), value)
      .optional()
      .describe('headers of every request to it, such as `{"Authorization": "Bearer ${NOTES_TOKEN}"}`'),
    trusted: z
      .boolean()
      .default(false)
      .describe('you vouch for what it says about its tools, see [Trust](mcp.md#trust)'),
    tools: z
      .array(z.string().min(1).max(128))
      .max(200)
      .optional()
      .describe("the only tools to use, by the server's own names; unset = all"),
    timeoutMs: z
      .int()
      .min(1_000)
      .max(MAX_TIMEOUT_MS)
      .default(DEFAULT_TIMEOUT_MS)
      .describe('longest run of one call, in milliseconds'),
  })
  .superRefine((entry, issues) => {
    const refuse = (message: string, path: string[] = []): void =>
      issues.addIssue({ code: 'custom', message, path });
    if ((entry.command === undefined) === (entry.url === undefined)) {
      refuse('needs either "command" (a program of this machine) or "url"');
      return;
    }
    const foreign = entry.url === undefined ? (['headers'] as const) : (['args', 'env', 'cwd'] as const);
    for (const field of foreign) {
      if (entry[field] === undefined) continue;
      refuse(
        entry.url === undefined ? 'belongs to a server with "url"' : 'belongs to a server with "command"',
        [field],
      );
    }
    const url = entry.url === undefined ? null : URL.parse(entry.url);
    if (url !== null && (url.username !== '' || url.password !== '')) {
      refuse('may hold no user name or password: put them into "headers"', ['url']);
    }
  });

const serverName = z
  .string()
  .max(MAX_NAME_CHARS, `has at most ${MAX_NAME_CHARS} characters`)
  .regex(SERVER_NAME, 'has only a-z, 0-9, and single "-" or "_" between them')
  .refine(
    (name) => !RESERVED.includes(name),
    'is the word for the tools of all servers: choose another name',
  );

/** The field `mcp` of config.json. */
export const mcpRule = z
  .strictObject({
    servers: z
      .record(serverName, server)
      .refine((servers) => Object.keys(servers).length <= MAX_SERVERS, `has at most ${MAX_SERVERS} servers`)
      .default({})
      .describe(
        '[MCP servers](mcp.md) by name, at most 16; a name has `a-z`, `0-9` and single `-` or `_`, and begins the names of its tools',
      ),
  })
  .prefault({});

/** How to reach a server. */
export type McpConnection =
  | {
      kind: 'stdio';
      command: string;
      args: readonly string[];
      env: Readonly<Record<string, string>>;
      cwd: string | undefined;
    }
  | { kind: 'http'; url: string; headers: Readonly<Record<string, string>> };

/** One configured server. */
export interface McpServerSettings {
  name: string;
  connection: McpConnection;
  /** The operator vouches for its text, and for what it says about its tools. */
  trusted: boolean;
  /** The only tools that are accepted, by the server's original names; undefined = all. */
  tools: readonly string[] | undefined;
  timeoutMs: number;
  /** Values that no log, error or prompt may contain. */
  secrets: readonly string[];
}

/** The servers with the values of the variables that they refer to, and an error for each variable that is not set. */
export function configureMcpServers(
  { servers }: z.infer<typeof mcpRule>,
  environment: Readonly<Record<string, string | undefined>>,
): { servers: McpServerSettings[]; errors: string[] } {
  const errors: string[] = [];
  const configured = Object.entries(servers).map(([name, entry]): McpServerSettings => {
    const secrets = new Set<string>();
    const fill = (text: string, field: string): string =>
      text.replaceAll(REFERENCE, (_whole, variable: string) => {
        const content = environment[variable];
        if (content === undefined || content === '') {
          errors.push(`mcp.servers.${name}.${field}: the environment variable ${variable} is not set`);
          return '';
        }
        secrets.add(content);
        return content;
      });
    const fillAll = (record: Readonly<Record<string, string>> | undefined, field: string) =>
      Object.fromEntries(
        Object.entries(record ?? {}).map(([key, text]) => [key, fill(text, `${field}.${key}`)]),
      );
    const { trusted, tools, timeoutMs, url, command = '', args = [], cwd } = entry;
    let connection: McpConnection;
    if (url === undefined) {
      const filled = args.map((text, index) => fill(text, `args.${index}`));
      connection = { kind: 'stdio', command, args: filled, env: fillAll(entry.env, 'env'), cwd };
    } else {
      const headers = fillAll(entry.headers, 'headers');
      for (const text of Object.values(headers)) secrets.add(text);
      connection = { kind: 'http', url, headers };
    }
    return { name, connection, trusted, tools, timeoutMs, secrets: [...secrets] };
  });
  return { servers: configured, errors };
}
