/** Requests for approval, what became of them, and the rules that approve by themselves, in German. */
import type { approvals as english } from '../english/access.ts';
import type { TranslationOf } from '../template.ts';

export const approvals: TranslationOf<typeof english> = {
  'approval.may_i': 'Darf ich das tun?',
  'approval.how': {
    one: 'Drück einen Knopf, oder schreib {/approve} oder {/deny}. Eine Antwort auf diese Nachricht lehnt ab, und ich lese sie als deinen Grund. Ohne Antwort innerhalb einer Minute wird es nicht ausgeführt.',
    other:
      'Drück einen Knopf, oder schreib {/approve} oder {/deny}. Eine Antwort auf diese Nachricht lehnt ab, und ich lese sie als deinen Grund. Ohne Antwort innerhalb von {count} Minuten wird es nicht ausgeführt.',
  },
  'approval.approve': 'Zustimmen',
  'approval.deny': 'Ablehnen',
  'approval.always': 'Genau das hier immer',
  'approval.reason': 'Grund',
  'approval.reason_help': 'Ich lese ihn, bevor ich weitermache. Er darf leer bleiben.',
  'approval.expired_unrun': 'Nicht ausgeführt: Niemand hat rechtzeitig geantwortet.',
  'approval.stopped_unrun': 'Nicht ausgeführt: angehalten.',
  'approval.approved_by': '{who} hat zugestimmt.',
  'approval.denied_by': '{who} hat abgelehnt.',
  'approval.denied_because': '{who} hat abgelehnt: {reason}.',
  'approval.named_above': 'Oben genannt: {path}',
  'approval.named_in': 'Genannt in {file}: {path}',
  'approval.file_hidden': '{file}, lässt sich nicht zeigen. {problem}',
  'approval.file': '{file}, {bytes} Bytes, SHA-256 {digest}',
  'approval.file_unshown': '{file}. Zu lang, um sie zu zeigen, oder kein Text.',
  'approval.may_name_more':
    'Sie kann weitere Dateien nennen, die hier nicht zu sehen sind und denen du nicht mit zustimmst.',

  'decided.denied': 'Abgelehnt: Es wird nicht ausgeführt.',
  'decided.approved': 'Zugestimmt.',
  'decided.rule_stored':
    'Zugestimmt. Genau das läuft hier von jetzt an ohne Frage; {/rules} zeigt es und nimmt es zurück.',
  'decided.rule_full': 'Zugestimmt. Nicht gemerkt: Dieser Chat hat schon {most} Regeln, siehe {/rules}.',
  'decided.rule_not_offered': 'Zugestimmt. Nur dieses eine Mal: Für immer lässt es sich nicht erlauben.',
  'decided.stopped': 'Nichts geändert: Es wurde angehalten.',
  'decided.already_approved': 'Nichts geändert: {who} hat schon zugestimmt.',
  'decided.already_denied': 'Nichts geändert: {who} hat schon abgelehnt.',
  'decided.someone': 'jemand',
  'decided.expired': 'Diese Anfrage ist abgelaufen; nichts wurde ausgeführt.',
  'decided.unknown': 'Diese Anfrage gibt es nicht mehr. Nichts wurde geändert.',
  'decided.owners_only': 'Das kann nur ein Eigentümer dieses Bots entscheiden.',
  'decided.nothing': 'Hier ist keine Anfrage offen.',
  'decided.reason_cut': 'Von deinem Grund habe ich nur die ersten {most} Zeichen behalten.',

  'rules.owners_only': 'In einer Gruppe sieht und beendet nur ein Eigentümer dieses Bots die Regeln.',
  'rules.usage': 'Schreib {/rules}, {/rules} remove und eine Nummer der Liste, oder {/rules} remove all.',
  'rules.unknown': 'Eine solche Regel gibt es hier nicht. {/rules} zeigt sie alle.',
  'rules.removed': {
    one: 'Entfernt: Von jetzt an frage ich wieder.',
    other: '{count} Regeln entfernt: Von jetzt an frage ich wieder.',
  },
  'rules.none': 'Hier läuft nichts ohne Frage, das eine Zustimmung braucht.',
  'rules.list': 'Diese Aufrufe laufen hier ohne Frage ({/rules} remove und eine Nummer beendet einen):',
  'rules.line': {
    one: '{number}. {call}, seit {since} durch {who}, {count}-mal benutzt',
    other: '{number}. {call}, seit {since} durch {who}, {count}-mal benutzt',
  },
};
