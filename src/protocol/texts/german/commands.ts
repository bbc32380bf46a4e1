/** Replies of the commands about the conversation, and about what is known of a person, in German. */
import type { commands as english } from '../english/commands.ts';
import type { TranslationOf } from '../template.ts';

export const commands: TranslationOf<typeof english> = {
  'greeting.first':
    'Hallo! Schreib mir, wie du einem Menschen schreiben würdest; ich antworte gleich hier. Du kannst auch schicken:',

  'bot.description':
    'Schreib mir, wie du einem Menschen schreiben würdest, und ich antworte gleich hier. Wenn ich dich noch nicht kenne, sagt meine erste Antwort, was zu tun ist.',
  'bot.short_description':
    'Ein persönlicher Assistent, betrieben von dem, der dir diese Adresse gegeben hat.',

  'stop.stopped': 'Angehalten.',
  'stop.nothing': 'Es läuft nichts.',
  'stop.was_idle': 'Es lief nichts.',
  'stop.dropped': {
    one: '1 wartende Nachricht wurde verworfen.',
    other: '{count} wartende Nachrichten wurden verworfen.',
  },
  'stop.agents': 'Beendete Subagenten: {agents}.',
  'new.begun': 'Das ist ein neues Gespräch.',
  'new.untitled': 'Neues Gespräch',
  'new.in_thread': 'Das ist ein neues Gespräch: Schreib mir hier.',
  'new.no_right':
    'Es beginnt hier: Ich darf in dieser Gruppe kein Thema anlegen, bis ein Administrator mich Themen verwalten lässt.',
  'new.thread_opened': 'Das neue Gespräch hat ein eigenes Thema, „{name}“. Dieses bleibt, wie es ist.',

  'status.state': '{state}, {waiting}.',
  'status.answering': 'Ich antworte gerade',
  'status.idle': 'Ich habe nichts zu tun',
  'status.none_waiting': 'nichts wartet',
  'status.waiting': { one: '{count} Nachricht wartet', other: '{count} Nachrichten warten' },
  'status.model': 'Modell: {model}',
  'status.profile': 'Profil: {profile}',
  'status.bound': '{profile} (in config.json festgelegt)',
  'status.mode': 'Modus: {mode}',
  'status.messages': 'Nachrichten in diesem Gespräch: {messages}',
  'status.sources': 'Fremder Text, den es gelesen hat: {sources}',
  'status.server': {
    one: 'MCP-Server {name}: {state}, 1 Werkzeug',
    other: 'MCP-Server {name}: {state}, {count} Werkzeuge',
  },
  'status.profile_errors': 'Einige Profile haben Fehler: {/profile} zeigt sie.',
  'status.settings_errors': 'Die Einstellungen haben Fehler; ihr letzter gültiger Stand gilt weiter:',
  'status.webhook': {
    one: 'Webhook {name}: {count} Ereignis wartet.',
    other: 'Webhook {name}: {count} Ereignisse warten.',
  },
  'status.webhook_failing': {
    one: 'Webhook {name}: {count} Ereignis wartet, der letzte Versuch schlug fehl: {error}',
    other: 'Webhook {name}: {count} Ereignisse warten, der letzte Versuch schlug fehl: {error}',
  },
  'status.needs_restart': 'Geänderte Einstellungen, die einen Neustart brauchen: {fields}',
  'status.agent': 'Im Hintergrund, noch höchstens {minutes} min: {profile}: {task}',

  'sources.pages': 'Webseiten',
  'sources.hosts': 'Webseiten ({hosts})',
  'sources.hosts_more': 'Webseiten ({hosts} und andere)',
  'sources.local': 'Dateien, Programme, Erinnerungen oder andere Agenten',
  'sources.group': 'diese Gruppe',
  'sources.forwarded': 'eine weitergeleitete Nachricht',
  'sources.quoted': 'eine zitierte Nachricht',
  'sources.hook': 'ein Webhook',
  'sources.servers': 'MCP-Server ({servers})',
  'sources.servers_more': 'MCP-Server ({servers} und andere)',
  'sources.and': ' und ',

  'memory.not_here':
    'Hier lesen andere mit. Frag mich in einem privaten Chat, was ich mir über dich gemerkt habe.',
  'memory.none': 'Ich habe mir noch nichts über dich gemerkt.',
  'memory.no_match': 'Dazu habe ich mir nichts gemerkt.',
  'memory.list': 'Was ich mir über dich gemerkt habe ({/forget} und eine Nummer löscht etwas davon):',
  'memory.unverified': '(unbestätigt)',
  'memory.more': 'Es gibt noch mehr: suche darin mit {/memory} und ein paar Wörtern.',
  'memory.doubt':
    'Solange etwas unbestätigt ist, fragen dich Werkzeuge vorher, die über diesen Chat hinaus wirken. Bestätige es mit {/verify} und seiner Nummer.',
  'memory.no_number': 'Unter der Nummer {number} habe ich mir nichts gemerkt.',
  'verify.usage': 'Schreib {/verify} und eine Nummer aus {/memory}.',
  'verify.done': 'Nummer {number} ist bestätigt.',
  'forget.usage': 'Schreib {/forget} und eine Nummer aus {/memory}, oder {/forget} all.',
  'forget.done': 'Nummer {number} habe ich vergessen.',
  'forget.nothing': 'Ich hatte mir nichts über dich gemerkt.',
  'forget.all': 'Ich habe alles über dich vergessen ({facts}).',

  'queue.now': 'Nachrichten, während ich antworte: {mode}.',
  'queue.changed': 'Von jetzt an gilt: {meaning} ({mode}).',
  'queue.unknown': 'Einen Modus „{name}“ gibt es nicht. Modi: {modes}.',
  'queue.queue': 'jede Nachricht bekommt der Reihe nach ihre eigene Antwort',
  'queue.steer': 'eine Nachricht fließt beim nächsten Schritt in die laufende Antwort ein',
  'queue.interrupt': 'eine Nachricht beendet die laufende Antwort und wird stattdessen beantwortet',
  'queue.collect': 'kurz nacheinander geschickte Nachrichten werden gemeinsam beantwortet',

  'title.none':
    'Dieser Chat hat noch keinen Titel: Er bekommt einen nach der ersten Antwort. Mit {/title} und ein paar Wörtern gibst du ihm selbst einen.',
  'title.is': 'Der Titel dieses Chats: {title}',
  'title.changed': 'Dieser Chat heißt jetzt: {title}',
  'title.too_long': 'Der Titel hat {length} Zeichen; er darf 1 bis {most} haben.',
  'title.empty': 'Der Titel ist leer; er darf 1 bis {most} Zeichen haben.',
  'session.raced': 'Jemand anderes hat dieses Gespräch gerade begonnen: Schick das bitte noch einmal.',

  'try.busy':
    'Gerade wird eine Antwort geschrieben, oder eine wartet: Warte, bis sie fertig ist, oder beende sie mit {/stop}.',
  'try.nothing': 'Eine solche Frage gibt es in diesem Gespräch nicht. Nichts wurde geändert.',
  'try.summarized':
    'Das gehört inzwischen zur Zusammenfassung älterer Nachrichten und lässt sich nicht mehr ändern.',
  'try.foreign': 'Das kann nur noch einmal fragen, wer es gefragt hat, und nur im selben Chat.',
  'try.too_old': 'Diese Frage ist zu lange her, um sie noch einmal zu stellen: Schick sie bitte neu.',
  'try.ran_a_plan':
    'Diese Nachricht hat einen gespeicherten Plan ausgeführt: {/plan} run startet ihn noch einmal.',
  'try.has_client_tools':
    'Diese Frage kam von einem Programm mit eigenen Werkzeugen: Es muss sie selbst noch einmal stellen.',
  'try.too_many_tries': 'Diese Frage hat {most} Antworten, mehr gehen nicht: Schick sie bitte neu.',
  'undo.done':
    'Von „{question}“ und der Antwort darauf weiß ich nichts mehr. Was Werkzeuge getan haben, ist damit nicht rückgängig gemacht.',
  'retry.effects':
    'Ich antworte noch einmal. Was die frühere Antwort mit ihren Werkzeugen getan hat, ist nicht rückgängig gemacht: {effects}.',

  'trust.owners_only':
    'Nur ein Eigentümer kann dem vertrauen, was dieses Gespräch gelesen hat. {/new} beginnt ein neues.',
  'trust.busy': 'Hier ist eine Antwort noch nicht fertig: Warte darauf, oder schick vorher {/stop}.',
  'trust.nothing': 'Dieses Gespräch hat keinen fremden Text gelesen. Nichts wurde geändert.',
  'trust.done':
    'Dieses Gespräch hat fremden Text gelesen ({sources}). Von jetzt an gilt dieser Text als vertrauenswürdig: Werkzeuge, die über diesen Chat hinaus wirken, fragen seinetwegen nicht mehr. Was von jetzt an gelesen wird, zählt neu.',

  'language.now': 'Ich spreche {name} mit dir ({code}).',
  'language.now_auto': 'Ich spreche {name} mit dir ({code}), weil deine App so eingestellt ist.',
  'language.others':
    'Sprachen: {languages}. {/language} und ein Kürzel wechselt, {/language} auto richtet sich nach deiner App.',
  'language.changed': 'Von jetzt an spreche ich {name} mit dir.',
  'language.auto': 'Von jetzt an richte ich mich nach der Sprache deiner App; das ist {name}.',
  'language.unknown': '„{name}“ spreche ich nicht. Sprachen: {languages}.',
};
