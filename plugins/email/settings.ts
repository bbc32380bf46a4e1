/** The plug-in's settings. What is wrong with them is said when they are used, so that the plug-in loads without. */
import * as z from 'zod';
import { MailFailure } from './failures.ts';

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|::1)$/;
export const ADDRESS = /^[a-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[a-z0-9.-]{1,190}$/;
const MODES = ['implicit', 'starttls', 'none'];

export const Settings = z.object({
  EMAIL_ADDRESS: z.string().transform((address) => address.trim().toLowerCase()),
  EMAIL_PASSWORD: z.string(),
  EMAIL_USER: z.string().optional(),
  EMAIL_IMAP_HOST: z.string(),
  EMAIL_IMAP_PORT: z.coerce.number(),
  EMAIL_SMTP_HOST: z.string(),
  EMAIL_SMTP_PORT: z.coerce.number(),
  EMAIL_AUTHSERV_ID: z.string().transform((ids) =>
    ids
      .toLowerCase()
      .split(/[\s,]+/)
      .filter(Boolean),
  ),
  EMAIL_TLS: z.string(),
  EMAIL_CA: z.string().optional(),
  sessions: z.string(),
  keepSent: z.boolean(),
  markSeen: z.boolean(),
  buttonsIntro: z.string(),
});

export type EmailSettings = z.output<typeof Settings>;

/** How a server is connected to: encrypted, or else on this machine. Throws `MailFailure` that names the wrong setting. */
export function connectionOf(settings: EmailSettings, host: string, port: number) {
  const { EMAIL_TLS: mode, EMAIL_CA: ca, EMAIL_ADDRESS: address, EMAIL_USER: user = address } = settings;
  if (!ADDRESS.test(address)) throw wrong('EMAIL_ADDRESS must be an address such as parley@example.org.');
  if (!MODES.includes(mode)) throw wrong('EMAIL_TLS must be implicit, starttls or none.');
  if (!['thread', 'correspondent'].includes(settings.sessions))
    throw wrong('sessions must be thread or correspondent.');
  if (mode === 'none' && !LOOPBACK.test(host))
    throw wrong('EMAIL_TLS may be none only for servers on this machine.');
  return {
    host,
    port,
    secure: mode === 'implicit',
    auth: { user, pass: settings.EMAIL_PASSWORD },
    tls: { minVersion: 'TLSv1.2' as const, ...(ca !== undefined && { ca }) },
    logger: false as const,
  };
}

function wrong(message: string): MailFailure {
  return new MailFailure('rejected', message);
}
