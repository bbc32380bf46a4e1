/** The manifest of the HTTP channel: the page and the API, always on. */
import { z } from 'zod';
import { defineChannel } from '../../src/protocol/channel.ts';
import { withSlash } from '../../src/protocol/isomorphic/fill-text.js';
import { settings } from './config.ts';

const PORT = { error: 'must be a port, 0 to 65535; 0 = any free one' };

export const manifest = defineChannel({
  name: 'http',
  label: 'Web',
  writeCommand: withSlash,
  needs: 'nothing',
  env: z.object({
    PORT: z.coerce
      .number(PORT)
      .int(PORT)
      .min(0, PORT)
      .max(65_535, PORT)
      .default(8_080)
      .describe('port of the HTTP channel; 0 = any free one'),
    HOST: z
      .string()
      .min(1)
      .default('127.0.0.1')
      .describe(
        'address to listen on; anything but loopback is for a network you trust, or behind a proxy with TLS',
      ),
  }),
  settings,
  secretShapes: [],
  isOn: () => true,
  secrets: () => [],
  async check({ env, settings }, context) {
    const { portFindings, proxyFindings } = await import('./checks.ts');
    return [
      ...(await portFindings({ host: env.HOST, port: env.PORT }, context)),
      ...proxyFindings(settings.trustedProxies),
    ];
  },
  async create({ env, settings }, deps) {
    const { create } = await import('./index.ts');
    return create({ host: env.HOST, port: env.PORT, ...settings }, deps);
  },
});
