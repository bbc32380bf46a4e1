/** What is wrong with a channel, in German. */
import type { TranslationOf } from '../template.ts';
import type { channelHealth as english } from '../english/access.ts';

export const channelHealth: TranslationOf<typeof english> = {
  'health.needs': 'braucht {needs}',
  'health.both': '{first} {second}',
  'health.queued': 'wartet auf den Empfang; vielleicht empfängt gerade ein anderer Knoten',
  'health.broke': 'Die Verbindung zu {network} ist abgerissen; sie wird neu aufgebaut.',
  'health.calls': '{network} antwortet nicht auf Aufrufe ({api}); es wird weiter versucht.',
  'health.missed': {
    one: 'Verpasste Nachrichten eines Chats konnten nicht alle gelesen werden: siehe {event} im Protokoll.',
    other:
      'Verpasste Nachrichten aus {count} Chats konnten nicht alle gelesen werden: siehe {event} im Protokoll.',
  },
  'health.unreachable': '{network} ist nicht erreichbar; der Aufruf wird wiederholt.',
  'health.answered': '{network} hat mit dem Status {status} geantwortet; der Aufruf wird wiederholt.',
  'health.connecting': 'Die Verbindung zu {network} wird aufgebaut.',
  'health.portal_token':
    '{network} hat den Bot-Token abgelehnt: Kopiere den aus dem Developer Portal (deine Anwendung, Bot, Reset Token) in {variable} und starte neu.',
  'health.no_content':
    '{network} gibt dem Bot die Texte von Nachrichten nicht, die ihn nicht erwähnen: Er beantwortet Erwähnungen, Direktnachrichten und Slash-Befehle. Schalte im Developer Portal „Message Content Intent“ ein (deine Anwendung, Bot, Privileged Gateway Intents) und starte neu.',
  'health.more_shards':
    '{network} verlangt mehr Shards, als es angefordert hatte (4011): Starte Parley neu, damit es noch einmal fragt, wie viele es braucht.',
  'health.bad_shard': '{network} hat den Shard abgelehnt (4010): Aktualisiere Parley.',
  'health.bad_version': '{network} hat die API-Version abgelehnt (4012): Aktualisiere Parley.',
  'health.bad_intents': '{network} hat die Intents abgelehnt (4013): Aktualisiere Parley.',
  'health.unseen': 'Der Bot kann diesen Kanal auf {network} nicht sehen: Gib ihm das Recht „Kanal anzeigen“.',
  'health.forbidden':
    'Der Bot darf das auf {network} nicht: Gib ihm in diesem Kanal das Recht „Nachrichten senden“.',
  'health.archived': 'Der Thread auf {network} ist archiviert: Hol ihn aus dem Archiv, um dort zu schreiben.',
  'health.locked': 'Der Thread auf {network} ist gesperrt: Entsperre ihn, um dort zu schreiben.',
  'health.unwritable': {
    one: 'In einem Kanal konnte der Bot in der letzten Stunde nicht schreiben. {why}',
    other: 'In {count} Kanälen konnte der Bot in der letzten Stunde nicht schreiben. {why}',
  },
  'health.sessions_short':
    'Die letzten Sitzungen mit {network} endeten bald; die nächste beginnt in {seconds} s.',
  'health.sessions_used_up':
    'Heute wurden zu viele Sitzungen begonnen, und nach {total} setzt {network} den Bot-Token zurück; die nächste Verbindung kommt um {until}.',
  'health.app_page_token':
    '{network} hat den Bot-Token abgelehnt: Kopiere den Bot User OAuth Token (deine App auf {page}, OAuth & Permissions) in {variable} und starte neu.',
  'health.app_level_token':
    '{network} hat den App-Token abgelehnt: Erzeuge einen App-Level Token mit dem Scope connections:write (deine App auf {page}, Basic Information), setze {variable} darauf und starte neu.',
  'health.socket_off':
    'Der Socket Mode der {network}-App ist ausgeschaltet: Schalte ihn ein (deine App auf {page}, Socket Mode).',
  'health.not_opened': 'Die Verbindung zu {network} ließ sich nicht öffnen; es wird weiter versucht.',
  'health.no_address': '{network} hat keine Adresse für die Verbindung genannt.',
  'health.failed': '{network} meldet den Fehler {code}; der Aufruf wird wiederholt.',
  'health.foreign': 'Etwas vor {network} hat geantwortet; der Aufruf wird wiederholt.',
  'health.other': '{network} meldet: {detail}',
  'health.refused': '{network} hat den Aufruf abgelehnt: {detail}',
  'health.refused_once':
    '{network} hat einen Aufruf abgelehnt, aber nicht das Token des Bots; der Aufruf wird wiederholt.',
  'health.at_limit': '{network} hat eine eigene Grenze erreicht; der Aufruf wird wiederholt.',
  'health.no_list': '{network} hat {method} nicht mit einer Liste beantwortet.',
  'health.not_read': '{network} hat nicht gesagt, wem das Token des Bots gehört; später wird wieder gefragt.',
  'health.scope':
    'Dem Bot fehlt bei {network} das Recht {scope}: füge es hinzu (deine App unter {page}, OAuth & Permissions) und installiere die App neu.',
  'health.scopes':
    'Dem Bot fehlt bei {network} ein Recht: vergleiche seine Rechte mit der Dokumentation (deine App unter {page}, OAuth & Permissions) und installiere die App neu.',
  'health.wait': '{network} bittet um {ms} ms Pause.',
  'health.login_token':
    'Der {network}-Homeserver hat den Zugriffstoken abgelehnt: Melde den Bot neu an, setze {variable} auf den neuen Token und starte neu.',
  'health.server_calls': 'Der {network}-Homeserver ({variable}) antwortet nicht; es wird weiter versucht.',
  'health.server_sync': 'Der {network}-Homeserver antwortet nicht auf einen Sync; es wird weiter versucht.',
  'health.chat_token':
    '{network} lehnt den Bot-Token ab: Trag den, den @BotFather für deinen Bot zeigt, in {variable} ein und starte neu. Parley fragt {network} weiter, falls es diesen doch noch annimmt.',
  'health.said': '{network} hat auf {method} mit „{description}“ geantwortet.',
  'health.conflict':
    '{refusal} Etwas anderes empfängt mit diesem Bot-Token: Halte es an, oder nimm einen eigenen Bot.',
  'health.webhook_address': '{refusal} Berichtige {setting}.',
  'health.not_reached':
    '{network} ist für {method} nicht erreichbar ({why}): Prüfe das Netz, und {variable}, falls gesetzt.',
  'health.webhook':
    '{network} kann Updates nicht an {setting} zustellen: „{why}“. Es hält {waiting} zurück und versucht es weiter.',
  'health.http.in_use':
    'Den Port {port} auf {host} belegt ein anderes Programm; setze PORT auf einen freien.',
  'health.http.no_permission':
    'Auf dem Port {port} darf nicht gelauscht werden; setze PORT auf einen über 1023.',
  'health.http.not_here':
    '{host} ist keine Adresse dieses Rechners; setze HOST auf eine, oder auf 127.0.0.1.',
  'health.http.unknown_host':
    '{host} lässt sich nicht auflösen; setze HOST auf eine Adresse dieses Rechners, oder auf 127.0.0.1.',
  'health.http.cannot_listen': 'Auf {host}:{port} (HOST, PORT) kann nicht gelauscht werden: {code}.',
};
