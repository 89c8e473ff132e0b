import { PayFileColumn } from './row-fault';

/**
 * What payroll systems call each field: English, French, German, Spanish, Italian, Dutch, Polish and Portuguese. A
 * name that means another field, or half of one, in any of these languages is left out: a column that is not known is
 * told, a column taken for another is paid.
 */
export const HEADER_NAMES: Readonly<Record<PayFileColumn, readonly string[]>> = {
  employeeId: [
    ...['employee id', 'employee number', 'employee no', 'employee nr', 'personnel number', 'staff number'],
    ...['matricule', 'numéro de matricule', 'numéro de salarié', 'numéro employé'],
    ...['Personalnummer', 'Personal-Nr', 'Pers-Nr', 'Mitarbeiternummer', 'Mitarbeiter-Nr', 'Mitarbeiter-ID'],
    ...['número de empleado', 'código de empleado', 'id empleado', 'nº empleado', 'número de trabajador'],
    ...['matricola', 'codice dipendente', 'numero dipendente', 'id dipendente'],
    ...['personeelsnummer', 'personeelsnr', 'medewerkernummer', 'werknemersnummer', 'medewerker-id'],
    ...['numer pracownika', 'nr pracownika', 'numer ewidencyjny', 'id pracownika', 'numer kadrowy'],
    ...['número de funcionário', 'código do funcionário', 'número do trabalhador', 'nº funcionário'],
    ...['número de colaborador', 'id funcionário'],
  ],
  name: [
    ...['name', 'full name', 'employee name', 'account holder', 'beneficiary', 'beneficiary name', 'payee'],
    ...['nom et prénom', 'nom complet', 'nom du salarié', 'titulaire', 'titulaire du compte', 'bénéficiaire'],
    ...['nom du bénéficiaire', 'Kontoinhaber', 'Kontoinhaberin', 'Empfänger', 'Empfängername'],
    ...['Zahlungsempfänger', 'Mitarbeitername', 'Begünstigter', 'nombre y apellidos', 'nombre completo'],
    ...['titular', 'titular de la cuenta', 'beneficiario', 'nombre del beneficiario', 'nombre del empleado'],
    ...['cognome e nome', 'nome e cognome', 'intestatario', 'intestatario conto', 'nome beneficiario'],
    ...['naam', 'volledige naam', 'rekeninghouder', 'naam rekeninghouder', 'begunstigde', 'naam begunstigde'],
    ...['imię i nazwisko', 'nazwisko i imię', 'posiadacz rachunku', 'odbiorca', 'nazwa odbiorcy'],
    ...['nome completo', 'titular da conta', 'beneficiário', 'nome do beneficiário', 'nome do funcionário'],
  ],
  iban: [
    ...['iban', 'iban number', 'iban no', 'iban code', 'account iban', 'beneficiary iban', 'numéro iban'],
    ...['code iban', 'iban du bénéficiaire', 'IBAN-Nummer', 'IBAN-Nr', 'IBAN Empfänger', 'número iban'],
    ...['código iban', 'cuenta iban', 'iban del beneficiario', 'codice iban', 'numero iban', 'conto iban'],
    ...['iban beneficiario', 'iban begunstigde', 'numer iban', 'nr iban', 'rachunek iban', 'konto iban'],
    ...['iban odbiorcy', 'conta iban', 'iban do beneficiário'],
  ],
  bic: [
    ...['bic', 'swift', 'bic/swift', 'swift/bic', 'bic code', 'swift code', 'code bic', 'code swift'],
    ...['BIC-Code', 'SWIFT-Code', 'código bic', 'código swift', 'codice bic', 'codice swift', 'kod bic'],
    ...['kod swift', 'bic-code bank'],
  ],
  amount: [
    ...['amount', 'net pay', 'net salary', 'net amount', 'payment amount', 'montant', 'montant net'],
    ...['net à payer', 'salaire net', 'montant à payer', 'Betrag', 'Auszahlungsbetrag', 'Überweisungsbetrag'],
    ...['Nettolohn', 'Nettogehalt', 'Zahlbetrag', 'importe', 'importe neto', 'líquido a percibir'],
    ...['salario neto', 'importe a pagar', 'importo', 'importo netto', 'netto a pagare', 'netto in busta'],
    ...['stipendio netto', 'bedrag', 'nettobedrag', 'netto bedrag', 'nettoloon', 'nettosalaris', 'kwota'],
    ...['kwota netto', 'kwota przelewu', 'kwota do wypłaty', 'do wypłaty', 'wynagrodzenie netto', 'montante'],
    ...['valor líquido', 'salário líquido', 'líquido a receber', 'valor a pagar'],
  ],
  currency: [
    ...['currency', 'currency code', 'devise', 'monnaie', 'code devise', 'Währung', 'Währungscode'],
    ...['moneda', 'divisa', 'código de moneda', 'valuta', 'codice valuta', 'munt', 'muntsoort', 'waluta'],
    ...['kod waluty', 'moeda', 'código da moeda'],
  ],
  remittance: [
    ...['remittance', 'remittance information', 'payment details', 'payment text', 'motif', 'libellé'],
    ...['motif de paiement', 'libellé du virement', 'Verwendungszweck', 'Buchungstext', 'Zahlungszweck'],
    ...['concepto', 'concepto de pago', 'causale', 'causale pagamento', 'causale bonifico', 'omschrijving'],
    ...['mededeling', 'betalingskenmerk', 'tytuł przelewu', 'tytuł płatności', 'tytułem', 'descritivo'],
    ...['descrição do pagamento', 'motivo do pagamento'],
  ],
  executionDate: [
    ...['execution date', 'payment date', 'pay date', "date d'exécution", 'date de paiement'],
    ...['date de virement', 'Ausführungsdatum', 'Zahlungsdatum', 'Auszahlungsdatum', 'fecha de ejecución'],
    ...['fecha de pago', 'data di esecuzione', 'data pagamento', 'data di pagamento', 'uitvoeringsdatum'],
    ...['betaaldatum', 'data realizacji', 'data wypłaty', 'data przelewu', 'data de execução'],
    ...['data de pagamento', 'data do pagamento'],
  ],
};

const LETTERS: Readonly<Record<string, string>> = {
  ß: 'ss',
  ł: 'l',
  ø: 'o',
  æ: 'ae',
  œ: 'oe',
  º: 'o',
  '°': 'o',
};

/** A header name for comparison: case, accents, spaces, dots, hyphens and underscores folded. */
export function foldHeader(name: string): string {
  return name
    .toLowerCase()
    .replace(/[ßłøæœº°]/g, (letter) => LETTERS[letter] ?? letter)
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .replace(/[\s._'’:-]+/gu, '');
}

const FIELD_OF_NAME: ReadonlyMap<string, PayFileColumn> = new Map(
  Object.entries(HEADER_NAMES).flatMap(([field, names]) =>
    names.map((name) => [foldHeader(name), field as PayFileColumn] as const),
  ),
);

/** The field that a header name means in one of the eight languages. */
export function fieldOfHeader(name: string): PayFileColumn | undefined {
  return FIELD_OF_NAME.get(foldHeader(name));
}
