/** Replies of the commands about profiles, models, schedules, prompts and usage, in German. */
import type { settings as english } from '../english/commands.ts';
import type { TranslationOf } from '../template.ts';

export const settings: TranslationOf<typeof english> = {
  'profile.is': 'Profil: {profile}',
  'profile.bound': 'Profil: {profile} (in config.json festgelegt)',
  'profile.line': '- {profile}: {about}',
  'profile.line_now': '- {profile} (dieses): {about}',
  'profile.model': 'Modell {model}',
  'profile.tools': 'Werkzeuge {tools}',
  'profile.no_tools': 'keine Werkzeuge',
  'profile.switch': 'Wechsle mit {/profile} ID.',
  'profile.errors': 'Die Dateien einiger Profile haben Fehler; ihr letzter gültiger Stand gilt weiter.',
  'profile.unknown': 'Ein Profil „{name}“ gibt es nicht. Profile: {profiles}.',
  'profile.changed': 'Das Profil ist jetzt {profile}, von der nächsten Nachricht an.',
  'model.unknown':
    'Ein Modell oder Profil „{name}“ gibt es nicht: {/model} und {/profile} zählen sie auf, über HTTP GET /v1/models.',
  'profile.cannot_answer': 'Das Profil „{profile}“ kann nicht antworten: {why}',
  'profile.no_such_model': 'Das Profil „{profile}“ kann nicht antworten: ein Modell „{name}“ gibt es nicht.',
  'profile.of_chat': 'Redet nur: keine Werkzeuge und keine Pläne',
  'profile.of_coder': 'Arbeitet an den Dateien des Gesprächs und führt Programme aus',
  'profile.of_researcher': 'Findet Dinge im Web heraus, mit Quellen',
  'model.is': 'Modell: {model}',
  'model.chosen': '(für dieses Gespräch gewählt; {/model} default nimmt es zurück)',
  'model.change': 'Wechsle mit {/model} NAME:',
  'model.more': 'und {more} weitere',
  'model.usual_again': 'Es ist wieder das übliche Modell: {model}.',
  'model.is_profile': '„{name}“ ist ein Profil: Wechsle dazu mit {/profile} {name}.',
  'model.changed': 'Das Modell ist jetzt {model}, von der nächsten Nachricht an.',
  'settings.owners_only':
    'Das darf nur ein Eigentümer ändern: wer als Erstes gekoppelt wurde, wer in access.owners von config.json steht, oder ein Token mit dem Recht „admin“.',

  'usage.everyone_today': 'Alle, heute',
  'usage.everyone': 'Alle, letzte {days} Tage',
  'usage.conversation': 'Dieses Gespräch',
  'usage.you_today': 'Du, heute (UTC)',
  'usage.you': 'Du, letzte {days} Tage',
  'usage.line': '- {what}: {sum}',
  'usage.nothing': 'nichts',
  'usage.sum': {
    one: '{answers} Antwort, {read} Token gelesen, {written} geschrieben, {time} Rechenzeit',
    other: '{answers} Antworten, {read} Token gelesen, {written} geschrieben, {time} Rechenzeit',
  },
  'usage.estimated': '≈ = ein Server hat nicht alles gemeldet.',

  'prompt.none': 'Kein MCP-Server bietet hier eine Vorlage an.',
  'prompt.undescribed': 'ohne Beschreibung',
  'prompt.unknown': 'Eine solche Vorlage gibt es nicht. Die Vorlagen hier:',
  'prompt.missing': 'Dieser Vorlage fehlt {names}: {usage}',
  'prompt.empty': 'Der Server hat eine leere Vorlage geschickt.',

  'schedule.how_list': '`{/schedule}` zeigt die Zeitpläne dieses Chats',
  'schedule.how_cron':
    '`{/schedule} add "0 9 * * 1-5" Sag mir die Nachrichten` fügt einen Zeitplan mit einer cron-Zeile hinzu (Minute, Stunde, Tag, Monat, Wochentag) und, wenn du willst, mit einer Zeitzone: `"0 9 * * * Europe/Berlin"`',
  'schedule.how_every':
    '`{/schedule} add "every 30m" …`, `"every 2 hours"`, `"in 10 minutes"` oder `"at 2026-12-01 09:00"` gehen auch',
  'schedule.how_remove': '`{/schedule} remove 2` entfernt den zweiten der Liste',
  'schedule.now': 'Es ist jetzt {moment}.',
  'schedule.none': 'Hier gibt es keine Zeitpläne. {now}',
  'schedule.added': 'Eingeplant: {schedule}',
  'schedule.removed': 'Entfernt: {schedule}',
  'schedule.unknown': 'Einen solchen Zeitplan gibt es hier nicht; {/schedule} zeigt sie alle.',
  'schedule.foreign':
    'Diesen Zeitplan hat jemand anderes gemacht; entfernen kann ihn nur diese Person oder ein Eigentümer.',
  'schedule.line': '{timing}, {state}: {task}',
  'schedule.once': 'einmal',
  'schedule.days': { one: 'jeden Tag', other: 'alle {count} Tage' },
  'schedule.hours': { one: 'jede Stunde', other: 'alle {count} Stunden' },
  'schedule.minutes': { one: 'jede Minute', other: 'alle {count} Minuten' },
  'schedule.next': 'als Nächstes {moment}',
  'schedule.done': 'erledigt {moment}',
  'schedule.off': 'abgeschaltet',
  'schedule.run_skipped': 'ausgelassen: {why}',
  'schedule.run_deleted': 'begonnen; ihre Runde wurde gelöscht',
  'schedule.run_queued': 'wartet in ihrem Chat',
  'schedule.run_running': 'läuft noch',
  'schedule.run_parked': 'wartet auf eine Entscheidung',
  'schedule.run_completed': 'fertig',
  'schedule.run_stopped': 'von jemandem angehalten',
  'schedule.run_failed': 'gescheitert; ihr Ablauf sagt, warum',
  'schedule.run_max_iterations': 'endete nach so vielen Schritten, wie eine Runde machen darf',
  'schedule.run_interrupted': 'von einer neueren Nachricht unterbrochen',
  'schedule.run_joined': 'zusammen mit einer anderen Nachricht beantwortet',
  'schedule.run_cut_off': 'die Antwort hat ihre größte Länge erreicht',
  'schedule.run_filtered': 'das Modell oder der Filter seines Servers wollte nicht antworten',
  'schedule.run_ended': 'zu Ende',
  'schedule.why_full': 'im Chat warteten zu viele Nachrichten, die {/stop} verwirft',
  'schedule.why_tools': 'der Chat wartete auf Ergebnisse von Werkzeugen, die sein Programm ausführt',
  'schedule.why_not_taken': 'der Chat hat die Aufgabe nicht angenommen',
  'schedule.why_no_access':
    'Der Zeitplan wurde abgeschaltet: Wer ihn angelegt hat, darf in diesem Chat nicht mehr schreiben.',
  'schedule.why_missed': {
    one: 'Ein Lauf fiel aus, weil zu der Zeit kein Gateway lief; nachgeholt wird nur der erste, der ausfiel.',
    other:
      '{count} Läufe fielen aus, weil zu der Zeit kein Gateway lief; nachgeholt wird nur der erste, der ausfiel.',
  },
  'schedule.why_missed_many':
    'Mehr als {most} Läufe fielen aus, weil zu der Zeit kein Gateway lief; nachgeholt wird nur der erste, der ausfiel.',
  'schedule.unreadable':
    'Ein Zeitplan wurde abgeschaltet, weil sich seine Zeiten nicht mehr lesen lassen; siehe {/schedule}.',
  'schedule.skipped_full':
    'Eine geplante Aufgabe wurde ausgelassen: Im Chat warteten zu viele Nachrichten; {/stop} verwirft sie.',
  'schedule.skipped_tools':
    'Eine geplante Aufgabe wurde ausgelassen: Der Chat wartete auf die Ergebnisse von Werkzeugen, die sein Programm ausführt.',
  'schedule.skipped': 'Eine geplante Aufgabe wurde ausgelassen: Der Chat hat sie nicht angenommen.',
  'schedule.one_way':
    'Gib die Zeit auf genau eine Weise an: als cron-Zeile, alle N Minuten, in N Minuten oder als Zeitpunkt.',
  'schedule.no_time':
    '„{text}“ ist keine Zeit, die ich lesen kann; schreib sie wie 2026-12-01 09:00, oder mit Abstand zu UTC wie 2026-12-01T09:00:00+01:00.',
  'schedule.bad_offset': '„{text}“ hat einen Abstand zu UTC, den es nicht gibt.',
  'schedule.no_zone': 'Eine Zeitzone „{zone}“ gibt es nicht; nenn eine wie Europe/Berlin, oder UTC.',
  'schedule.before_1970': 'Zeiten vor 1970 gehen nicht.',
  'schedule.interval': 'Der Abstand muss zwischen 1 Minute und 366 Tagen liegen.',
  'schedule.never': '„{expression}“ kommt nie: Einen solchen Tag gibt es nicht.',
  'schedule.passed': 'Diese Zeit ist vorbei; es ist jetzt {now}.',
  'schedule.too_often': '„{expression}“ läuft öfter als einmal in der Minute, und öfter geht es nicht.',
  'schedule.no_cron':
    '„{expression}“ ist keine cron-Zeile: fünf Zahlen oder Sterne, für Minute, Stunde, Tag, Monat und Wochentag, wie „0 9 * * *“ für jeden Tag um neun.',
  'schedule.by_task':
    'Eine geplante Aufgabe kann keine Zeitpläne hinzufügen; ein Mensch kann es, mit {/schedule} add.',
  'schedule.in_group':
    'In einer Gruppe kann nur ein Eigentümer dieses Bots Zeitpläne hinzufügen, und nur, wo die Gruppe selbst freigegeben ist. In einem privaten Chat kannst du deine eigenen anlegen.',
  'schedule.may_not_write':
    'Nach {address} darf ich für dich nicht schreiben; über HTTP schick dort vorher eine Nachricht.',
  'schedule.session_full':
    'Dieser Chat hat schon {most} Zeitpläne, mehr gehen nicht. Entferne vorher einen: {/schedule} remove <Nummer>.',
  'schedule.user_full':
    'Du hast in allen Chats zusammen schon {most} Zeitpläne, mehr gehen nicht. Entferne vorher einen: {/schedule} remove <Nummer>.',
  'schedule.gateway_full':
    'Dieses Gateway hat schon {most} Zeitpläne, mehr gehen nicht. Erst müssen welche entfernt werden.',
  'schedule.no_task': 'Die Aufgabe fehlt: Sag, was zu tun ist.',
  'schedule.long_task': 'Eine Aufgabe hat höchstens {most} Zeichen; diese hat {length}.',
};
