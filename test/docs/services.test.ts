/** The files of docs/service, and .env.example, against the program that they run. */
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { channels } from '../../channels/index.ts';
import { environmentSchemaFor } from '../../src/config-schema.ts';
import { START_ARGS } from '../bench/children.ts';
import { renderEnvExample, SERVICE_FILES } from './generated-pages.ts';
import { codeBlocks, readText, ROOT } from './pages.ts';

const variables = Object.keys(environmentSchemaFor(channels).shape);
const unit = 'docs/service/parley.service';
const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0;
if (!hasSystemd)
  process.stderr.write('\n*** The systemd unit is not verified: there is no systemd-analyze here. ***\n\n');

describe.each(SERVICE_FILES)('$file', ({ file, text }) => {
  it('is as "npm run docs" writes it, from the source of "parley service"', () => {
    expect(readText(file), 'run: npm run docs').toBe(text());
  });
});

describe('the systemd unit', () => {
  const text = readText(unit);

  it('starts the same file as npm start, and allows it as long as a stop takes', () => {
    expect(text).toContain(`ExecStart=/usr/bin/env node ${START_ARGS.join(' ')}\n`);
    expect(Number(/TimeoutStopSec=(\d+)/.exec(text)?.[1])).toBeGreaterThan(25);
    const [shown] = codeBlocks('docs/operating.md').filter(({ language }) => language === 'ini');
    for (const line of shown?.text.trim().split('\n') ?? []) expect(text).toContain(line);
  });

  it.skipIf(!hasSystemd)('is accepted by systemd, which finds little exposed', () => {
    const verified = spawnSync('systemd-analyze', ['verify', path.join(ROOT, unit)], { encoding: 'utf8' });
    expect(verified.stderr).not.toMatch(/parley\.service/);
    const rated = spawnSync(
      'systemd-analyze',
      ['security', '--offline=yes', '--no-pager', path.join(ROOT, unit)],
      { encoding: 'utf8' },
    );
    expect(Number(/exposure level for parley\.service: ([\d.]+)/.exec(rated.stdout)?.[1])).toBeLessThan(3);
  });
});

describe('the launch agent', () => {
  const text = readText('docs/service/org.parley.gateway.plist');

  it('starts the same file as npm start, allows it as long as a stop takes, and holds no token', () => {
    const words = [...text.matchAll(/<string>([^<]*)<\/string>/g)].map(([, word]) => word);
    for (const word of START_ARGS) expect(words).toContain(word);
    expect(Number(/ExitTimeOut<\/key>\s*<integer>(\d+)/.exec(text)?.[1])).toBeGreaterThan(25);
    const set = /EnvironmentVariables<\/key>\s*<dict>(.*?)<\/dict>/s.exec(text)?.[1] ?? '';
    const named = [...set.matchAll(/<key>([^<]*)<\/key>/g)].map(([, name]) => name);
    expect(named).toEqual(['NODE_ENV', 'GATEWAY_HOME']);
  });

  it('is whole: every element that opens closes, and each key has a value', () => {
    for (const name of ['plist', 'dict', 'array', 'key', 'string', 'integer'])
      expect(text.split(`</${name}>`)).toHaveLength(text.split(new RegExp(`<${name}[ >]`)).length);
    expect(text).not.toMatch(/<\/key>\s*<key>/);
  });
});

describe('the examples of proxies', () => {
  it.each(['docs/service/Caddyfile', 'docs/service/Caddyfile.oauth2-proxy', 'docs/service/nginx.conf'])(
    '%s reaches the default port and buffers nothing',
    (file) => {
      const text = readText(file);
      expect(text).toMatch(/127\.0\.0\.1:8080/);
      expect(text).toMatch(/flush_interval -1|proxy_buffering off;/);
      const opened = text.match(/\{/g)?.length;
      expect(text.match(/\}/g)).toHaveLength(opened ?? -1);
    },
  );

  it('strip the identity headers a client sends before the identity proxy is asked, in a route, which keeps its order', () => {
    const text = readText('docs/service/Caddyfile.oauth2-proxy');
    const order = [
      'route {',
      'request_header -X-Forwarded-User',
      'forward_auth',
      'reverse_proxy 127.0.0.1:8080',
    ];
    const places = order.map((line) => text.indexOf(line));
    expect(places).toEqual(places.toSorted((one, other) => one - other));
    expect(places[0]).toBeGreaterThan(0);
    expect(readText('docs/signing-in.md')).toContain(text.slice(text.indexOf('chat.example.org {')));
  });

  it('let nginx pass WebSockets on', () => {
    const text = readText('docs/service/nginx.conf');
    expect(text).toContain('proxy_set_header Upgrade $http_upgrade;');
    expect(text).toContain('proxy_set_header Connection $parley_connection;');
  });

  it('let nginx accept files as large as the gateway accepts', () => {
    const megabytes = Number(/client_max_body_size (\d+)m/.exec(readText('docs/service/nginx.conf'))?.[1]);
    expect(megabytes).toBeGreaterThan(20);
  });
});

describe('the compose file without Postgres', () => {
  const text = readText('docs/service/compose.embedded.yml');

  it('has one service, as hardened as the one next to Postgres, and sets only variables that exist', () => {
    expect([...text.matchAll(/^ {2}(\w+):$/gm)].map(([, name]) => name)).toEqual(['gateway', 'gateway']);
    const set = [...text.matchAll(/^ {6}([A-Z_]+): /gm)].map(([, name = '']) => name);
    expect(set).toEqual(
      expect.arrayContaining(['HOST', 'PORT', 'GATEWAY_HOME', 'OLLAMA_HOST', 'PARLEY_COMMAND']),
    );
    expect(set.filter((name) => !variables.includes(name))).toEqual(['PARLEY_COMMAND']);
    expect(set).not.toContain('DATABASE_URL');
    for (const line of [
      'cap_drop: [ALL]',
      'read_only: true',
      'no-new-privileges:true',
      'stop_grace_period: 30s',
    ]) {
      expect(text).toContain(line);
      expect(readText('docker-compose.yml')).toContain(line);
    }
  });
});

describe('the compose files', () => {
  const files = [
    'docker-compose.yml',
    ...['embedded', 'gpu', 'host-ollama', 'folder'].map((name) => `docs/service/compose.${name}.yml`),
  ];

  it.each([
    [
      'docker-compose.yml',
      '.env',
      ['DATABASE_PASSWORD', 'DATABASE_URL', 'GATEWAY_HOME', 'HOST', 'OLLAMA_HOST', 'PORT'],
    ],
    [
      'docs/service/compose.embedded.yml',
      '../../.env',
      ['GATEWAY_HOME', 'HOST', 'OLLAMA_HOST', 'PARLEY_COMMAND', 'PORT'],
    ],
  ])('give the gateway every variable of .env, and fix few: %s', (file, environment, fixed) => {
    const [, gateway = ''] = readText(file).split(/^ {2}(?=[a-z]+:$)/m);
    expect(gateway).toContain(`    env_file:\n      - path: ${environment}\n        required: false\n`);
    const [, set = ''] = gateway.split('    environment:\n');
    const names = [...set.matchAll(/^ {6}([A-Z_]+): /gm)].map(([, name = '']) => name);
    expect(names.toSorted()).toEqual(fixed);
    for (const line of ['init: true', 'mem_limit: ', 'max-size: 10m', 'host.docker.internal:host-gateway'])
      expect(gateway).toContain(line);
  });

  it('put no password into an address, where some of its characters would have a special meaning', () => {
    expect(readText('docker-compose.yml')).toContain(
      'DATABASE_URL: postgres://parley@postgres:5432/parley\n',
    );
    for (const file of files) expect(readText(file)).not.toMatch(/:\/\/\S*\$\{/);
  });

  it('use a dollar sign only for variables, and indent with two spaces', () => {
    for (const file of files) {
      const lines = readText(file)
        .split('\n')
        .filter((line) => !line.startsWith('#'));
      const odd = lines.filter(
        (line) => /\$(?!\{[A-Z_]+(?::[-?][^}]*)?\}|\$)/.test(line) || /^(?: {2})* \S|\t/.test(line),
      );
      expect({ file, odd }).toEqual({ file, odd: [] });
    }
  });

  it('change only services that exist, and are all explained', () => {
    const main = readText('docker-compose.yml');
    const operating = readText('docs/operating.md');
    for (const file of files.slice(2)) {
      const services = [...readText(file).matchAll(/^ {2}([a-z]+):$/gm)].map(([, name]) => name);
      expect(services).not.toEqual([]);
      for (const name of services) expect(main).toContain(`\n  ${name}:\n`);
      expect(operating).toContain(file.replace('docs/', ''));
    }
    // Without the Ollama service the gateway still starts.
    expect(main).toContain('      ollama:\n        condition: service_started\n        required: false\n');
    expect(readText('docs/service/compose.folder.yml')).toContain('- ./data:/data\n');
    for (const [file, line] of [
      ['.gitignore', '/data'],
      ['.dockerignore', 'data'],
    ] as const)
      expect(readText(file).split('\n')).toContain(line);
  });
});

describe('.env.example', () => {
  it('is as "npm run docs" writes it, sets nothing, and names every variable', () => {
    const text = readText('.env.example');
    expect(text, 'run: npm run docs').toBe(renderEnvExample());
    expect(text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))).toEqual([]);
    const defaults = [...text.matchAll(/^# ([A-Z_]+)=(.*)$/gm)].flatMap(([, name = '', value = '']) =>
      value === '' ? [] : [[name, value]],
    );
    expect(z.record(z.string(), z.string()).parse(Object.fromEntries(defaults))).toHaveProperty(
      'PORT',
      '8080',
    );
    for (const name of variables) expect(text).toContain(`# ${name}=`);
  });
});
