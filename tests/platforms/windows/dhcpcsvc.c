/* A stand-in for Windows' DHCP client, built against its own header: what a program must say to it, and where the
   answer goes. The card whose name ends with 1 has no server that knows option 245; the one with 2 is told an address;
   the one with 3 has no server. */
#include <windows.h>
#include <dhcpcsdk.h>
#include <string.h>

__declspec(dllexport) DWORD APIENTRY DhcpCApiInitialize(LPDWORD version) { *version = 2; return ERROR_SUCCESS; }
__declspec(dllexport) VOID APIENTRY DhcpCApiCleanup(void) {}

__declspec(dllexport) DWORD APIENTRY DhcpRequestParams(DWORD flags, LPVOID reserved, LPWSTR card,
        LPDHCPCAPI_CLASSID class, DHCPCAPI_PARAMS_ARRAY sent, DHCPCAPI_PARAMS_ARRAY wanted, LPBYTE buffer,
        LPDWORD size, LPWSTR request) {
    static const BYTE told[4] = {127, 0, 0, 99};
    if (flags != DHCPCAPI_REQUEST_SYNCHRONOUS || reserved || class || request || sent.nParams || wanted.nParams != 1
            || wanted.Params->OptionId != 245 || wanted.Params->IsVendor || !buffer || *size < sizeof told)
        return ERROR_INVALID_PARAMETER;
    switch (card[wcslen(card) - 1]) {
        case L'1': *size = 0; return ERROR_SUCCESS;
        case L'2': break;
        default: return ERROR_FILE_NOT_FOUND;
    }
    memcpy(buffer, told, sizeof told);
    wanted.Params->Data = buffer;
    wanted.Params->nBytesData = *size = sizeof told;
    return ERROR_SUCCESS;
}
