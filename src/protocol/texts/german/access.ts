/** Who is let in, what is refused, and what is said of messages that wait, in German. */
import type { access as english } from '../english/access.ts';
import type { TranslationOf } from '../template.ts';

export const access: TranslationOf<typeof english> = {
  'pairing.code':
    'Hallo! Ich kenne dich noch nicht. Bitte die Person, die mich betreibt, innerhalb einer Stunde diesen Code zu bestätigen:\n\n{parley} pair approve {code}',
  'group.not_allowed':
    'Diese Gruppe ist noch nicht freigegeben. Auf dem Rechner des Gateways geht das mit: {parley} pair group {channel} {chat}',
  'group.hello_not_allowed':
    'Hallo! Ich antworte nur in Gruppen, die mein Betreiber freigegeben hat. Diese hier gibt er auf dem Rechner des Gateways frei mit: {parley} pair group {channel} {chat}',
  'group.hello_mention':
    'Hallo! Erwähne mich, antworte auf eine meiner Nachrichten oder schick einen Befehl, dann antworte ich. {/help} zeigt, was ich sonst noch kann.',
  'group.hello': 'Hallo! Ich antworte hier auf jede Nachricht. {/help} zeigt, was ich sonst noch kann.',
  'group.quiet':
    'Bots haben hier innerhalb von {within} Minuten {turns} Antworten ausgelöst. In diesem Chat antworte ich {quiet} Minuten lang keinem Bot mehr; Menschen antworte ich wie immer.',

  'observe.private': 'In einem privaten Chat gibt es nichts mitzulesen.',
  'observe.usage': 'Schreib {/observe} on oder {/observe} off.',
  'observe.owners_only': 'Nur ein Eigentümer kann einstellen, ob ich hier mitlese.',
  'observe.on':
    'Ich lese hier mit: Die letzten {most} Nachrichten, die mich nicht erwähnen, hebe ich auf, und das Modell liest sie mit der nächsten, die mich erwähnt. Auf keine davon antworte ich. {/observe} off beendet das und löscht sie.',
  'observe.off': 'Was mich hier nicht erwähnt, hebe ich nicht auf.',

  'refused.queue_full': {
    one: '{count} Nachricht von dir wartet noch, deshalb habe ich diese nicht angenommen. {/stop} verwirft sie.',
    other:
      '{count} Nachrichten von dir warten noch, deshalb habe ich diese nicht angenommen. {/stop} verwirft sie.',
  },
  'refused.tools_pending':
    'Dieses Gespräch wartet auf die Ergebnisse der Werkzeugaufrufe {ids}: Schick sie als tool-Nachrichten, oder halte das Gespräch an.',
  'refused.empty': 'Diese Nachricht hat weder Text noch eine Datei, die ich lesen kann.',
  'refused.too_long': 'Diese Nachricht ist zu lang: Ich nehme bis zu {most} Zeichen an.',
  'refused.too_fast':
    'Das ging zu schnell, deshalb habe ich es nicht angenommen. Schick es bitte in {seconds} s noch einmal.',
  'refused.too_fast_last':
    'Das ging zu schnell, deshalb habe ich es nicht angenommen. Schick es bitte in {seconds} s noch einmal. Ich sage das erst wieder, wenn ich eine Nachricht von dir angenommen habe.',
  'refused.tokens':
    'Du hast die {tokens} Token dieses Tages verbraucht; um {reset} UTC beginnt ein neuer Tag.',
  'refused.scope':
    'Diesem Token fehlt das Recht „{scope}“, deshalb wurde /{name} nicht ausgeführt; „{parley} token change ID --scope SCOPES“ gibt es ihm.',
  'refused.choice_profile':
    'Dieses Token darf das Profil „{name}“ nicht wählen, das darf nur eines mit dem Recht „admin“. Es darf {instead} benutzen; ein Profil mit "usableBy": "everyone" ist für alle.',
  'refused.choice_model':
    'Dieses Token darf das Modell „{name}“ nicht wählen, das darf nur eines mit dem Recht „admin“. Es darf {instead} benutzen; ein Profil mit "usableBy": "everyone" ist für alle.',
  'refused.choice_other_model':
    'Dieses Token darf kein anderes Modell wählen, das darf nur eines mit dem Recht „admin“. Es darf {instead} benutzen; ein Profil mit "usableBy": "everyone" ist für alle.',

  'waiting.for_approval':
    'Deine Nachricht ist als Nächste dran: Vorher warte ich auf eine Antwort zu `{tool}` (mit den Knöpfen, {/approve} oder {/deny}; {/stop} verwirft alles).',

  'button.copy': 'Befehl kopieren',
  'button.unknown': 'Diesen Knopf kenne ich nicht. Nichts wurde geändert.',
  'button.elsewhere': 'Dieser Knopf gehört zu einem anderen Chat. Nichts wurde geändert.',

  'answer.ended': 'Diese Antwort ist schon zu Ende.',
  'answer.forgotten': 'Diese Antwort kenne ich nicht mehr. Nichts wurde geändert.',
  'answer.not_newest': 'Nur die neueste Antwort kann neu geschrieben werden. Nichts wurde geändert.',
  'answer.asked_again': 'Noch einmal gefragt.',
  'edited.offer': 'Ich hatte schon mit deiner Frage angefangen, wie sie vorher war.',
  'edited.again': 'Neu fragen',
  'edited.forgotten': 'Diese Frage kenne ich nicht mehr. Schick sie bitte noch einmal.',
  'edited.foreign': 'Nur wer die Frage geschrieben hat, kann sie noch einmal stellen.',
};
