/** What the settings of the HTTP channel mean in German, by their paths. */

export const german: Readonly<Record<string, string>> = {
  allowedOrigins: 'andere Webseiten, die Anfragen stellen dürfen, etwa `https://chat.example.org`',
  allowedHosts:
    'Namen, unter denen das Gateway außer Loopback und `HOST` antwortet, etwa `chat.example.org` hinter einem Proxy',
  trustedProxies:
    'Adressen oder Netze von Proxys vor dem Gateway, etwa `["10.0.0.2"]`; nur ihnen wird `X-Forwarded-For` geglaubt, für Grenzen je Adresse, und der Header von `proxySignIn`',
  'limits.socketsPerAddress': 'Verbindungen einer Adresse, über die noch kein gültiges Token kam',
  'limits.socketsPerToken': 'Verbindungen eines Tokens; darüber hinaus werden unbenutzte geschlossen',
  'limits.streamsPerToken': 'offene Streams eines Tokens',
  'limits.turnsPerToken': 'Chats eines Tokens, in denen zur gleichen Zeit eine Runde laufen darf',
  'limits.sessionsPerToken': 'Chats, die einem Token gehören dürfen',
  'limits.messagesPerMinute': 'Nachrichten, die ein Token in der Minute schicken darf',
};
