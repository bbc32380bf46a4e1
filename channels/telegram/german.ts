/** German descriptions of Telegram's settings, by path. */

export const german: Readonly<Record<string, string>> = {
  'webhook.url':
    'öffentliche Adresse des Gateways, an die Telegram dann Neues schickt; ohne sie fragt das Gateway danach',
  'editIntervalMs.private':
    'Millisekunden, die in einem privaten Chat zwischen zwei Änderungen einer wachsenden Antwort mindestens vergehen',
  'editIntervalMs.group': 'dasselbe in einer Gruppe, wo Telegram zwanzig Nachrichten in der Minute annimmt',
  stream:
    'wie Antworten erscheinen, während sie geschrieben werden, in Chats, die nicht mit `/stream` gewählt haben: `edit` in einer Nachricht, die wächst, `draft` in einem Entwurf (private Chats; Gruppen wie bei `edit`), `off` erst, wenn sie ganz sind',
  richMessages:
    'Antworten mit einer Tabelle, einer Formel, Aufgaben oder Aufklappbarem, und solche von mehr als 4.096 Zeichen, gehen als eine Nachricht mit Formaten hinaus, wo Telegram sie annimmt',
  draftIntervalMs: 'Millisekunden, die in einem privaten Chat zwischen zwei Entwürfen mindestens vergehen',
  'burst.private':
    'erste Nachrichten und fertige Texte, die in einem privaten Chat auf einmal hinausgehen dürfen',
  'burst.group': 'dasselbe in einer Gruppe',
  'reservedForFinals.private': 'wie viele davon nur fertige Texte benutzen dürfen',
  'reservedForFinals.group': 'dasselbe in einer Gruppe, auch von den Aufrufen einer Minute',
  'reactions.private':
    'in einem privaten Chat an einer Frage zeigen, dass sie wartet 👀, bearbeitet wird ✍, beantwortet ist 👌 oder fehlgeschlagen ist 😢',
  'reactions.group': 'dasselbe in einer Gruppe',
  groupCallsPerMinute: 'höchste Zahl von Nachrichten und Änderungen in einer Gruppe in jeder Minute',
  'callsPerSecond.start': 'Aufrufe des ganzen Bots in der Sekunde, zu Beginn',
  'callsPerSecond.usual':
    'worauf das binnen Sekunden steigt, solange Aufrufe warten und Telegram noch keinen abgelehnt hat',
  'callsPerSecond.most': 'worauf das steigen darf, solange Aufrufe warten und Telegram keinen ablehnt',
};
