/** The manifest of the HTTP channel: the page and the API, always on. */
import { z } from 'zod';
import { defineChannel } from '../../src/protocol/channel.ts';
import { withSlash } from '../../src/protocol/isomorphic/fill-text.js';
import { isNetwork } from './limits/client-address.ts';

/** A limit of a token or an address. */
const limit = (fallback: number, meaning: string) =>
  z.int().min(1).max(1_000_000).default(fallback).describe(meaning);

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
  settings: z.strictObject({
    allowedOrigins: z
      .array(z.url())
      .default([])
      .describe('other web pages that may call, such as `https://chat.example.org`'),
    allowedHosts: z
      .array(z.string().min(1))
      .default([])
      .describe(
        'names the gateway answers to besides loopback and `HOST`, such as `chat.example.org` behind a proxy',
      ),
    trustedProxies: z
      .array(z.string().refine(isNetwork, 'must be an address or a network such as 10.0.0.0/8'))
      .max(100)
      .default([])
      .describe(
        'addresses or networks of proxies in front of the gateway, such as `["10.0.0.2"]`; only these are trusted with `X-Forwarded-For`, for limits per address, and with the header of `proxySignIn`',
      ),
    limits: z
      .strictObject({
        socketsPerAddress: limit(2_048, 'connections of one address that have carried no valid token'),
        socketsPerToken: limit(2_048, 'connections of one token; beyond that, idle ones are closed'),
        streamsPerToken: limit(1_024, 'open streams of one token'),
        turnsPerToken: limit(128, 'sessions of one token that may have a running turn at a time'),
        sessionsPerToken: limit(5_000, 'sessions that one token may own'),
        messagesPerMinute: limit(1_200, 'messages one token may send in a minute'),
      })
      .prefault({}),
  }),
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
