/** The plug-in's settings, checked. */
import { z } from 'zod';

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|::1)$/;
export const ADDRESS = /^[a-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[a-z0-9.-]{1,190}$/;

const port = z.coerce.number().int().min(1).max(65_535);

export const Settings = z
  .object({
    EMAIL_ADDRESS: z
      .string()
      .transform((address) => address.trim().toLowerCase())
      .refine(
        (address) => ADDRESS.test(address),
        'EMAIL_ADDRESS must be an address such as parley@example.org',
      ),
    EMAIL_PASSWORD: z.string(),
    EMAIL_USER: z.string().optional(),
    EMAIL_IMAP_HOST: z.string(),
    EMAIL_IMAP_PORT: port,
    EMAIL_SMTP_HOST: z.string(),
    EMAIL_SMTP_PORT: port,
    EMAIL_AUTHSERV_ID: z.string().transform((ids) =>
      ids
        .toLowerCase()
        .split(/[\s,]+/)
        .filter(Boolean),
    ),
    EMAIL_TLS: z.enum(['implicit', 'starttls', 'none'], 'EMAIL_TLS must be implicit, starttls or none'),
    EMAIL_CA: z.string().optional(),
    sessions: z.enum(['thread', 'correspondent'], 'sessions must be thread or correspondent'),
    keepSent: z.boolean(),
    markSeen: z.boolean(),
    buttonsIntro: z.string(),
  })
  .refine(
    ({ EMAIL_TLS: tls, EMAIL_IMAP_HOST: imap, EMAIL_SMTP_HOST: smtp }) =>
      tls !== 'none' || (LOOPBACK.test(imap) && LOOPBACK.test(smtp)),
    'EMAIL_TLS may be none only for servers on this machine',
  );

export type EmailSettings = z.output<typeof Settings>;

/** How both servers are connected to: encrypted, or not at all. */
export function connectionOf(settings: EmailSettings, host: string, port: number) {
  const { EMAIL_TLS: mode, EMAIL_CA: ca, EMAIL_ADDRESS: address, EMAIL_USER: user = address } = settings;
  return {
    host,
    port,
    secure: mode === 'implicit',
    auth: { user, pass: settings.EMAIL_PASSWORD },
    tls: { minVersion: 'TLSv1.2' as const, ...(ca !== undefined && { ca }) },
    logger: false as const,
  };
}
