"""Preferences that an assistant must not act on unasked: they are about security, credentials or money."""

from typing import Final

import regex

from dream.guards.late import late

# A tilde stands for a space.
_STEMS: Final = r"""
    passw(?:or|ör)[dt] passcode passphrase kennwort mot~de~passe contraseña contrasena clave~de~acceso senha
    wachtwoord hasło пароль パスワード 密码 密碼 비밀번호
    credential zugangsdat identifiant credencial credenziali anmeldedat
    login log[~-]in sign[~-]in anmeldung inicio~de~sesi
    token api[~-]?key schlüssel chiffr encrypt verschlüssel cifrad criptograf
    secur sicherheit sécurit securit segurid seguran beveilig безопасн 安全 セキュリティ 보안
    privacy datenschutz confidential vertraulich confidencial
    firewall vpn 2fa mfa two[~-]factor zwei[~-]?faktor authenti autenti permission berechtigung autoriz
    money geld argent dinero dinheiro denaro деньг 钱 お金 돈
    pay(?:ing|ment|s|\b|ee|out|roll|pal) paid bezahl zahl(?:ung|en|t\b) paie paye pagar pago\b pagos\b pagament
    bank(?:\b|ing|s\b|konto) banque banco\b banca\b
    credit~card kreditkart carte~bancaire tarjeta cartão cartao iban\b
    invoice rechnung factur fatura fattur budget haushaltsgeld presupuesto orçamento orcamento
    financ finanz invest stocks?\b aktie bolsa bourse crypto krypto cripto bitcoin wallet
    purchas buy(?:ing|s|\b) bought kauf(?:en|t|\b) achat acheter compr(?:a|ar|as|e)\b
    transfer(?:s|red|ring)?~money überweis virement transferencia transferência transferencia
    price preis(?:e|\b) prix\b precio preço cost(?:s|\b) kosten
    salary gehalt salaire salario salário tax(?:es|\b) steuer impôt impuesto imposto mortgage hypothek loan\b kredit
    euros?\b dollars?\b
"""
_TOUCHY: Final = late(
    rf"(?<![\p{{Latin}}\p{{Cyrillic}}])(?:{'|'.join(_STEMS.split()).replace('~', ' ')})|[€$£¥₹₩]", regex.IGNORECASE
)


def needs_permission(*texts: str) -> bool:
    """Tell whether a text is about security, credentials or money, in any of several languages.

    It errs on the safe side: an assistant that asks once too often does no harm.

    Example:
        >>> needs_permission("Ana wants her Passwörter in a vault."), needs_permission("Ana wants short answers.")
        (True, False)
    """
    return any(_TOUCHY.search(text) is not None for text in texts)
